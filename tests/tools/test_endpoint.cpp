#include "tools/swage/endpoint.hpp"

#include "tests/tools/model_server.hpp"
#include "tools/swage/endpoint_failure.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <set>

using namespace swage;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using test::model_server;

namespace {

endpoint_options to(const model_server& server) {
  return {.url = server.url(),
          .model = "writer",
          .key = "",
          .connections = 4,
          .timeout_s = 20,
          .pause_s = 0};
}

std::vector<endpoint_request> some_requests(size_t count) {
  std::vector<endpoint_request> out;
  for (size_t i = 0; i < count; ++i) {
    sampling how;
    how.temperature = 0.5f;
    how.top_p = 0.75f;
    how.max_new_tokens = 77;
    how.seed = (uint64_t{1} << 40) + i;
    out.push_back({"prompt " + std::to_string(i), how});
  }
  return out;
}

void nothing(size_t, size_t) {}

} // namespace

TEST_CASE("every prompt gets its own answer back", "[tools][endpoint]") {
  model_server server{[](const json& asked, size_t, httplib::Response& out) {
    model_server::say(asked["messages"][0]["content"], out);
  }};
  size_t last = 0;
  auto texts = ask_endpoint(to(server), some_requests(20),
                            [&](size_t done, size_t total) {
                              CHECK(total == 20);
                              last = std::max(last, done);
                            });
  REQUIRE(texts.has_value());
  CHECK(last == 20);
  for (size_t i = 0; i < 20; ++i)
    CHECK((*texts)[i] == "prompt " + std::to_string(i));
  std::set<int64_t> seeds;
  for (auto& one : server.asked)
    seeds.insert(one["seed"].get<int64_t>());
  CHECK(seeds.size() == 20);
}

TEST_CASE("sampling, model and key are sent", "[tools][endpoint]") {
  model_server server{[](const json&, size_t, httplib::Response& out) {
    model_server::say("text", out);
  }};
  auto options = to(server);
  options.url += "/"; // As people write it.
  options.key = "secret";
  REQUIRE(ask_endpoint(options, some_requests(1), nothing).has_value());
  REQUIRE(server.asked.size() == 1);
  auto& asked = server.asked[0];
  CHECK(asked["model"] == "writer");
  CHECK(asked["temperature"] == 0.5);
  CHECK(asked["top_p"] == 0.75);
  CHECK(asked["max_tokens"] == 77);
  CHECK(asked["messages"].size() == 1);
  CHECK(asked["messages"][0]["role"] == "user");
  CHECK(server.keys[0] == "Bearer secret");
}

TEST_CASE("a busy server is asked again", "[tools][endpoint]") {
  model_server server{[](const json&, size_t count, httplib::Response& out) {
    if (count < 3)
      out.status = count == 1 ? 429 : 503;
    else
      model_server::say("at last", out);
  }};
  auto texts = ask_endpoint(to(server), some_requests(1), nothing);
  REQUIRE(texts.has_value());
  CHECK(texts->front() == "at last");
  CHECK(server.asked.size() == 3);
}

TEST_CASE("a refusal is told in the server's words", "[tools][endpoint]") {
  model_server server{[](const json&, size_t, httplib::Response& out) {
    out.status = 404;
    out.set_content("no model is called writer", "text/plain");
  }};
  auto refused = ask_endpoint(to(server), some_requests(9), nothing);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ec::infra);
  CHECK_THAT(refused.error().message,
             ContainsSubstring("the server has no such path or model (status "
                               "404): no model is called writer"));
  CHECK_THAT(refused.error().message, ContainsSubstring("(model writer)"));
  CHECK(server.asked.size() <= 4); // One for each connection.
}

TEST_CASE("a reply without a text is no response", "[tools][endpoint]") {
  model_server server{[](const json&, size_t, httplib::Response& out) {
    out.set_content(R"({"choices": []})", "application/json");
  }};
  auto refused = ask_endpoint(to(server), some_requests(1), nothing);
  REQUIRE_FALSE(refused.has_value());
  CHECK_THAT(refused.error().message,
             ContainsSubstring("expected choices[0].message.content"));
}

TEST_CASE("a model that says nothing gave an empty text",
          "[tools][endpoint]") {
  model_server server{[](const json&, size_t, httplib::Response& out) {
    out.set_content(R"({"choices": [{"message": {"content": null}}]})",
                    "application/json");
  }};
  auto texts = ask_endpoint(to(server), some_requests(1), nothing);
  REQUIRE(texts.has_value());
  CHECK(texts->front().empty());
}

TEST_CASE("a wrong URL and a silent port are named", "[tools][endpoint]") {
  endpoint_options options{.url = "localhost:8000",
                           .model = "m",
                           .key = "",
                           .connections = 1,
                           .timeout_s = 5,
                           .pause_s = 0};
  auto refused = ask_endpoint(options, some_requests(1), nothing);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ec::invalid_argument);
  for (auto* url : {"", "http://", "http:///v1", "ftp://h", "http://h:0/v1",
                    "http://h:70000", "http://h:x/v1", "http://h:/v1",
                    "http://a b/v1", "http://[::1/v1", "http://[::1]x/v1"}) {
    options.url = url;
    INFO(url);
    auto checked = check_endpoint(options);
    REQUIRE_FALSE(checked.has_value());
    CHECK(checked.error().code == ec::invalid_argument);
  }
  {
    model_server gone{[](const json&, size_t, httplib::Response&) {}};
    options.url = gone.url();
    CHECK(check_endpoint(options).has_value());
    CHECK(gone.asked.empty());
  }
  CHECK(check_endpoint(options).error().code == ec::infra);
  refused = ask_endpoint(options, some_requests(1), nothing);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ec::infra);
  CHECK_THAT(refused.error().message,
             ContainsSubstring("/v1/chat/completions (model m): nothing listens "
                               "on port "));
  options.url = "http://no.such.host.invalid/v1";
  CHECK_THAT(check_endpoint(options).error().message,
             ContainsSubstring("--endpoint http://no.such.host.invalid/v1: the "
                               "host no.such.host.invalid is not found: "));
}

TEST_CASE("a status is told as a sentence with the server's words",
          "[tools][endpoint]") {
  auto error = [](const char* text) {
    return json{{"error", {{"message", text}, {"type", "x"}}}}.dump();
  };
  CHECK(told_of_status(401, error("Incorrect API key"), true)
        == "the server refuses the key that OPENAI_API_KEY holds (status 401): "
           "Incorrect API key");
  CHECK_THAT(told_of_status(401, "", false),
             ContainsSubstring("wants a key; set OPENAI_API_KEY (status 401)"));
  CHECK_THAT(told_of_status(429, R"({"detail": "slow\n  down"})", true),
             ContainsSubstring("(status 429): slow down"));
  CHECK(told_of_status(500, "<html><title>Oops</title><p>long</html>", true)
        == "the server failed (status 500): Oops");
  CHECK_THAT(told_of_status(400, R"({"message": "too long"})", true),
             ContainsSubstring("refuses the request (status 400): too long"));
  CHECK(server_words(std::string(5000, 'x')).size() < 400);
  CHECK(server_words("[1, 2]") == "[1, 2]");
}
