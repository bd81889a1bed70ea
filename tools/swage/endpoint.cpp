#include "tools/swage/endpoint.hpp"

#include "tools/swage/endpoint_failure.hpp"

#include <fmt/format.h>
#include <httplib.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

namespace swage {

namespace {

using nlohmann::json;

constexpr int max_tries = 3;

/// "http://host:8000/v1" as what to connect to and what to ask for.
struct server_address {
  std::string host, path;
};

/// Whether "host", "host:8000" or "[::1]:8000" has a host, and a port that
/// there is.
bool is_authority(std::string_view text) {
  bool numeric = text.starts_with('[');
  auto end = std::min(text.find(numeric ? ']' : ':'), text.size());
  if (numeric && end++ == text.size())
    return false;
  auto host = text.substr(0, end), rest_of = text.substr(end);
  if (host.empty() || host.find_first_of(" \t?#@") != host.npos)
    return false;
  if (rest_of.empty())
    return true;
  if (rest_of[0] != ':')
    return false;
  auto digits = rest_of.substr(1);
  uint16_t port = 0;
  auto [rest, failed] = std::from_chars(digits.data(),
                                        digits.data() + digits.size(), port);
  return failed == std::errc{} && rest == digits.data() + digits.size()
         && port > 0;
}

result<server_address> parse_url(const std::string& url) {
  auto scheme = url.find("://");
  auto begin = scheme == url.npos ? url.size() : scheme + 3;
  auto end = std::min(url.find('/', begin), url.size());
  if ((!url.starts_with("http://") && !url.starts_with("https://"))
      || !is_authority(std::string_view{url}.substr(begin, end - begin)))
    return fail(ec::invalid_argument,
                fmt::format("--endpoint {}: expected a URL such as "
                            "http://localhost:8000/v1",
                            url));
  auto path = url.substr(end);
  while (path.ends_with('/'))
    path.pop_back();
  return server_address{url.substr(0, end), path + "/chat/completions"};
}

std::string body_of(const endpoint_options& server,
                    const endpoint_request& one) {
  json body = {{"model", server.model},
               {"messages", {{{"role", "user"}, {"content", one.prompt}}}},
               {"temperature", one.how.temperature},
               {"top_p", one.how.top_p},
               {"max_tokens", one.how.max_new_tokens},
               // Servers differ in how large a seed may be.
               {"seed", one.how.seed & 0x7fffffff}};
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// The text of a reply; nothing where it is none.
std::optional<std::string> text_of(const std::string& reply) {
  auto parsed = json::parse(reply, nullptr, false);
  auto at = "/choices/0/message/content"_json_pointer;
  if (!parsed.is_object() || !parsed.contains(at))
    return std::nullopt;
  auto& text = parsed[at];
  // Null where a model has said nothing.
  if (text.is_null())
    return std::string{};
  return text.is_string() ? std::optional{text.get<std::string>()}
                          : std::nullopt;
}

/// Connections of one evaluation: each thread has its own, and they take the
/// requests in turn.
class questioning {
public:
  questioning(const endpoint_options& server, server_address address,
              const std::vector<endpoint_request>& requests,
              const std::function<void(size_t, size_t)>& on_progress)
    : server_(server), address_(std::move(address)), requests_(requests),
      on_progress_(on_progress), texts_(requests.size()) {}

  result<std::vector<std::string>> run() {
    {
      std::vector<std::jthread> threads;
      auto count = std::min<size_t>(server_.connections, requests_.size());
      for (size_t i = 0; i < count; ++i)
        threads.emplace_back([this] { serve(); });
    }
    if (failure_)
      return tl::unexpected{*failure_};
    return std::move(texts_);
  }

private:
  void serve() {
    httplib::Client client{address_.host};
    auto seconds = static_cast<time_t>(server_.timeout_s);
    client.set_connection_timeout(30);
    client.set_read_timeout(seconds);
    client.set_write_timeout(seconds);
    client.set_keep_alive(true);
    if (!server_.key.empty())
      client.set_bearer_token_auth(server_.key);
    for (;;) {
      auto index = next_++;
      if (index >= requests_.size() || stopped_)
        return;
      auto text = ask(client, requests_[index]);
      std::lock_guard lock{mutex_};
      if (!text) {
        stopped_ = true;
        failure_ = failure_ ? failure_ : text.error();
        return;
      }
      texts_[index] = std::move(*text);
      on_progress_(++done_, requests_.size());
    }
  }

  result<std::string> ask(httplib::Client& client,
                          const endpoint_request& one) {
    auto body = body_of(server_, one);
    for (int tries = 1;; ++tries) {
      auto reply = client.Post(address_.path, body, "application/json");
      if (reply && reply->status == 200) {
        if (auto text = text_of(reply->body))
          return *text;
        return refused("expected choices[0].message.content, "
                       "found " + server_words(reply->body));
      }
      bool busy = !reply || reply->status == 429 || reply->status >= 500;
      if (!busy || tries == max_tries || stopped_)
        return refused(
          reply ? told_of_status(reply->status, reply->body,
                                 !server_.key.empty())
                : told_of_silence(address_.host, reply.error()));
      std::this_thread::sleep_for(
        std::chrono::duration<double>(server_.pause_s * tries));
    }
  }

  tl::unexpected<error> refused(const std::string& why) const {
    return fail(ec::infra, fmt::format("{}{} (model {}): {}", address_.host,
                                       address_.path, server_.model, why));
  }

  const endpoint_options& server_;
  server_address address_;
  const std::vector<endpoint_request>& requests_;
  const std::function<void(size_t, size_t)>& on_progress_;
  std::vector<std::string> texts_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  size_t done_ = 0;
  std::optional<error> failure_;
};

} // namespace

result<void> check_endpoint(const endpoint_options& server) {
  auto address = parse_url(server.url);
  if (!address)
    return tl::unexpected{address.error()};
  httplib::Client client{address->host};
  client.set_connection_timeout(10);
  client.set_read_timeout(1);
  auto reply = client.Get("/");
  // Whatever it answers, and be it late: something listens.
  if (reply || reply.error() == httplib::Error::Read)
    return {};
  return fail(ec::infra,
              fmt::format("--endpoint {}: {}", server.url,
                          told_of_silence(address->host, reply.error())));
}

result<std::vector<std::string>>
ask_endpoint(const endpoint_options& server,
             const std::vector<endpoint_request>& requests,
             const std::function<void(size_t, size_t)>& on_progress) {
  auto address = parse_url(server.url);
  if (!address)
    return tl::unexpected{address.error()};
  return questioning{server, std::move(*address), requests, on_progress}.run();
}

} // namespace swage
