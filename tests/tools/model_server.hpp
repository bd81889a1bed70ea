#pragma once

#include <httplib.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace swage::test {

/// A small OpenAI-compatible server on the loopback, which answers as a test
/// says and notes what it was asked.
class model_server {
public:
  using answer = std::function<void(const nlohmann::json& asked, size_t count,
                                    httplib::Response&)>;

  explicit model_server(answer how) : how_(std::move(how)) {
    server_.Post("/v1/chat/completions",
                 [this](const httplib::Request& in, httplib::Response& out) {
                   std::lock_guard lock{mutex_};
                   asked.push_back(nlohmann::json::parse(in.body));
                   keys.push_back(in.get_header_value("Authorization"));
                   how_(asked.back(), asked.size(), out);
                 });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread{[this] { server_.listen_after_bind(); }};
    while (!server_.is_running()) // It could not be stopped before.
      std::this_thread::yield();
  }

  ~model_server() {
    server_.stop();
    thread_.join();
  }

  std::string url() const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/v1";
  }

  /// What a server replies with one text.
  static void say(const std::string& text, httplib::Response& out) {
    nlohmann::json reply
      = {{"choices", {{{"index", 0},
                       {"finish_reason", "stop"},
                       {"message", {{"role", "assistant"},
                                    {"content", text}}}}}}};
    out.set_content(reply.dump(), "application/json");
  }

  std::vector<nlohmann::json> asked;
  std::vector<std::string> keys;

private:
  answer how_;
  std::mutex mutex_;
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

} // namespace swage::test
