#include "tests/tools/model_server.hpp"
#include "tests/tools/program.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include <map>
#include <sstream>
#include <string>
#include <vector>

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using swage::test::scratch;

namespace {

/// Written as in KernelBench: y = relu(x * w), w a parameter.
constexpr auto scaled_relu = R"(
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(features) + 0.5)

    def forward(self, x):
        return torch.relu(x * self.scale)


def get_inputs():
    return [torch.randn(64, 512)]


def get_init_inputs():
    return [512]
)";

/// A kernel whose loop body is `body`.
std::string kernel(const std::string& body) {
  return "extern \"C\" void kernel(const float* x, const float* w, float* y,\n"
         "                       int64_t rows, int64_t columns) {\n"
         "  for (int64_t i = 0; i < rows; ++i)\n"
         "    for (int64_t j = 0; j < columns; ++j) {\n"
         "      auto v = x[i * columns + j] * w[j];\n"
         "      "
         + body + "\n    }\n}\n";
}

/// Fifty times the work that it needs.
constexpr auto slow_relu = R"(
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        for _ in range(50):
            x = torch.relu(x)
        return x


def get_inputs():
    return [torch.randn(256, 512)]
)";

constexpr auto fast_relu = R"(
extern "C" void kernel(const float* x, float* y, int64_t rows,
                       int64_t columns) {
  for (int64_t i = 0; i < rows * columns; ++i)
    y[i] = x[i] > 0 ? x[i] : 0;
}
)";

/// The one JSON object that `verify` prints about a candidate.
json verdict(const std::string& source, int code) {
  scratch folder;
  auto told = swage::test::swage(
    {"verify", "--task", folder.file("t.py", scaled_relu), "--candidate",
     folder.file("k.cpp", source), "--json", "--no-measure"});
  INFO(told.err);
  INFO(told.out);
  CHECK(told.code == code);
  auto object = json::parse(told.out, nullptr, false);
  REQUIRE(object.is_object());
  return object;
}

} // namespace

TEST_CASE("a correct kernel by hand is accepted", "[tools][verify]") {
  auto object = verdict(kernel("y[i * columns + j] = v > 0 ? v : 0;"), 0);
  CHECK(object["category"] == "ok");
  CHECK(object["compiled"] == true);
  CHECK(object["correct"] == true);
  CHECK(object["legal"] == true);
  CHECK(object["speedup"].is_null());
  CHECK(object["pass_fraction"] == 1.0);
  CHECK(object["reward"] == 1.0);
}

TEST_CASE("a wrong kernel by hand is told apart", "[tools][verify]") {
  auto object = verdict(kernel("y[i * columns + j] = v;"), 1);
  CHECK(object["category"] == "correctness_error:tolerance");
  CHECK(object["compiled"] == true);
  CHECK(object["reward"] < 0);
}

TEST_CASE("a kernel that does not compile says why", "[tools][verify]") {
  auto object = verdict(kernel("y[i * columns + j] = nonsense(v);"), 1);
  CHECK(object["category"] == "compile_error:compiler");
  CHECK(object["compiled"] == false);
  CHECK_THAT(object["detail"].get<std::string>(),
             ContainsSubstring("nonsense"));
}

TEST_CASE("a wrong signature is a bad interface", "[tools][verify]") {
  auto object = verdict("extern \"C\" void kernel(float* y) { y[0] = 0; }\n",
                        1);
  CHECK(object["category"] == "compile_error:bad_interface");
  CHECK_THAT(object["detail"].get<std::string>(),
             ContainsSubstring("expected extern \"C\" void kernel(const float* "
                               "x, const float* w, float* y, int64_t na, "
                               "int64_t nb); found in line 1, column 17: "
                               "'void kernel(float*)'"));
}

namespace {

/// The verdicts of a batch by id.
std::map<std::string, json> by_id(const std::string& lines) {
  std::map<std::string, json> all;
  std::istringstream in{lines};
  for (std::string line; std::getline(in, line);) {
    auto object = json::parse(line, nullptr, false);
    REQUIRE(object.is_object());
    all[object["id"]] = object;
  }
  return all;
}

std::string row(json object) {
  return object.dump() + "\n";
}

} // namespace

TEST_CASE("a batch is judged, and goes on where it was", "[tools][verify]") {
  scratch folder;
  folder.file("t.py", scaled_relu);
  auto right = kernel("y[i * columns + j] = v > 0 ? v : 0;");
  auto lines = row({{"id", "a"}, {"task", "t.py"}, {"candidate", right}})
               + row({{"id", "b"},
                      {"reference", scaled_relu},
                      {"candidate", kernel("y[i * columns + j] = v;")},
                      {"model", "further fields are left alone"}})
               + "\n" + row({{"reference", slow_relu},
                             {"candidate", "no code at all"}});
  auto batch = folder.file("batch.jsonl", lines);
  // One verdict is there, of another only a part, and one came of a fault.
  auto out = folder.file("out.jsonl", R"({"id":"b","category":"infra:worker"})"
                                      "\n"
                                      R"({"id":"a","category":"ok"})"
                                      "\n"
                                      R"({"id":"4","categ)");
  auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> all = {"verify", "--batch", batch, "--no-measure"};
    all.insert(all.end(), more.begin(), more.end());
    return swage::test::swage(all);
  };
  auto told = run({"--jobs", "2"});
  INFO(told.err);
  REQUIRE(told.code == 0);
  auto all = by_id(told.out);
  CHECK(all.size() == 3);
  CHECK(all["a"]["category"] == "ok");
  CHECK(all["a"]["reward"] == 1.0);
  CHECK(all["b"]["category"] == "correctness_error:tolerance");
  CHECK(all["4"]["category"] == "compile_error:no_code");

  told = run({"--out", out});
  INFO(told.err);
  REQUIRE(told.code == 0);
  CHECK(told.out.empty());
  CHECK_THAT(told.err, ContainsSubstring("1 of 3 candidates have a verdict"));
  all = by_id(swage::test::content(out));
  CHECK(all.size() == 3);
  CHECK_FALSE(all["a"].contains("reward")); // As it was.
  CHECK(all["b"]["category"] == "correctness_error:tolerance");
  CHECK(all["4"]["category"] == "compile_error:no_code");
}

TEST_CASE("a batch that cannot be read is refused whole", "[tools][verify]") {
  scratch folder;
  folder.file("t.py", scaled_relu);
  auto says = [&](const std::string& lines) {
    auto told = swage::test::swage(
      {"verify", "--batch", folder.file("batch.jsonl", lines)});
    CHECK(told.code == 2);
    CHECK(told.out.empty());
    return told.err;
  };
  auto good = row({{"id", "a"}, {"task", "t.py"}, {"candidate", ""}});
  CHECK_THAT(says(""), ContainsSubstring("holds no candidate"));
  CHECK_THAT(says(good + "{"), ContainsSubstring("batch.jsonl:2: expected one"));
  CHECK_THAT(says(good + good), ContainsSubstring("batch.jsonl:2: id 'a' occurs "
                                                  "twice, first in line 1"));
  CHECK_THAT(says(row({{"task", "t.py"}})),
             ContainsSubstring("batch.jsonl:1: field 'candidate' is missing"));
  CHECK_THAT(says(row({{"candidate", "x"}})),
             ContainsSubstring("one of the fields task and reference"));
  CHECK_THAT(says(row({{"task", "none.py"}, {"candidate", "x"}})),
             ContainsSubstring("none.py"));
  CHECK_THAT(says(row({{"reference", "x = 1"}, {"candidate", "x"}})),
             ContainsSubstring("field 'reference': no 'class Model'"));
  CHECK_THAT(says(row({{"reference", 1}, {"candidate", "x"}})),
             ContainsSubstring("expected a string, found number"));
  // A file that holds something else is left as it is.
  auto notes = folder.file("notes.txt", "milk\neggs");
  auto told = swage::test::swage({"verify", "--batch",
                                  folder.file("batch.jsonl", good), "--out",
                                  notes});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("notes.txt:1:"));
  CHECK(swage::test::content(notes) == "milk\neggs");
  told = swage::test::swage({"verify"});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("--batch"));
}

TEST_CASE("the signature can be asked for first", "[tools][verify]") {
  scratch folder;
  auto task = folder.file("t.py", scaled_relu);
  auto told
    = swage::test::swage({"verify", "--task", task, "--print-signature"});
  INFO(told.err);
  CHECK(told.code == 0);
  CHECK_THAT(told.out, ContainsSubstring("void kernel(const float*"));
  auto object = swage::test::swage(
    {"verify", "--task", task, "--print-signature", "--json"});
  CHECK(object.code == 0);
  CHECK(json::parse(object.out)
        == json{{"signature", told.out.substr(0, told.out.size() - 1)}});
}

TEST_CASE("a module that is none is an invalid task", "[tools][verify]") {
  scratch folder;
  auto told = swage::test::swage(
    {"verify", "--task", folder.file("t.py", "raise ValueError(3)\n"),
     "--candidate", folder.file("k.cpp", kernel("")), "--json"});
  CHECK(told.code == 2);
}

TEST_CASE("a model on a server is evaluated", "[tools][eval]") {
  swage::test::model_server server{
    [](const json&, size_t count, httplib::Response& out) {
      auto body = count == 1 ? "y[i * columns + j] = v > 0 ? v : 0;"
                             : "y[i * columns + j] = v;";
      swage::test::model_server::say(
        "<think>a loop</think>\n```cpp\n" + kernel(body) + "```\n", out);
    }};
  scratch folder;
  std::filesystem::create_directories(folder.path("tasks"));
  folder.file("tasks/t.py", scaled_relu);
  auto told = swage::test::swage(
    {"eval", "configs/quickstart.toml", "--endpoint", server.url(), "--model",
     "writer", "--tasks", folder.path("tasks"), "--samples", "2", "--set",
     "tasks.prompt=full", "--set", "verifier.measure=false", "--json"});
  INFO(told.err);
  REQUIRE(told.code == 0);
  auto object = json::parse(told.out, nullptr, false);
  REQUIRE(object.is_object());
  CHECK(object["title"] == "writer");
  CHECK(object["outcomes"]["ok"] == 1);
  CHECK(object["outcomes"]["correctness_error:tolerance"] == 1);
  REQUIRE(server.asked.size() == 2);
  CHECK_THAT(server.asked[0]["messages"][0]["content"].get<std::string>(),
             ContainsSubstring("class Model(nn.Module)"));
}

TEST_CASE("eval needs one policy and says so", "[tools][eval]") {
  for (auto arguments :
       {std::vector<std::string>{},
        {"--checkpoint", "x", "--endpoint", "http://h:1", "--model", "m"},
        {"--endpoint", "http://h:1"},
        {"--checkpoint", "x", "--model", "m"}}) {
    arguments.insert(arguments.begin(), {"eval", "configs/quickstart.toml"});
    auto told = swage::test::swage(arguments);
    CHECK(told.code == 2);
    CHECK_THAT(told.err, ContainsSubstring("--endpoint URL"));
  }
}

TEST_CASE("what is too fast names the knob that says so", "[tools][verify]") {
  scratch folder;
  auto task = folder.file("t.py", slow_relu);
  auto source = folder.file("k.cpp", fast_relu);
  auto told = swage::test::swage({"verify", "--task", task, "--candidate",
                                  source, "--json", "--set",
                                  "verifier.excessive_speedup=1.5"});
  INFO(told.out);
  CHECK(told.code == 1);
  CHECK_THAT(told.out, ContainsSubstring("cheating:excessive_speedup"));
  CHECK_THAT(told.err, ContainsSubstring("verifier.excessive_speedup = 1.5 "));
  told = swage::test::swage({"verify", "--task", task, "--candidate", source,
                             "--json", "--set",
                             "verifier.excessive_speedup=1e6"});
  INFO(told.out);
  CHECK(told.code == 0);
}

TEST_CASE("people get lines and then feedback", "[tools][verify]") {
  scratch folder;
  auto told = swage::test::swage(
    {"verify", "--task", folder.file("t.py", scaled_relu), "--candidate",
     folder.file("k.cpp", kernel("y[i * columns + j] = v;"))});
  INFO(told.err);
  CHECK(told.code == 1);
  CHECK_THAT(told.out,
             ContainsSubstring("category       correctness_error:tolerance"));
  CHECK_THAT(told.out, ContainsSubstring("speedup        not measured"));
  CHECK_THAT(told.out, ContainsSubstring("\n\nWrong (correctness_error"));
}
