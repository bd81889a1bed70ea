#include "runtime/descriptor.hpp"
#include "tests/tools/program.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include <array>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

using Catch::Matchers::ContainsSubstring;
using swage::test::scratch;

namespace {

/// A configuration whose policy exists.
const std::string policy = "[policy]\npath = \"configs/quickstart\"\n";

auto run(std::initializer_list<std::string> arguments) {
  return swage::test::swage(arguments);
}

} // namespace

TEST_CASE("help lists what is built and nothing else", "[tools][cli]") {
  auto told = run({"--help"});
  CHECK(told.code == 0);
  for (auto* name : {"train", "eval", "verify", "write", "tasks", "inspect"})
    CHECK_THAT(told.out, ContainsSubstring(std::string{"  "} + name));
  CHECK_THAT(told.out, !ContainsSubstring("  serve "));
  CHECK_THAT(run({"--version"}).out, ContainsSubstring("swage "));
}

TEST_CASE("wrong use is two and goes to stderr", "[tools][cli]") {
  for (auto arguments : {std::vector<std::string>{},
                         {"trian"},
                         {"train", "--no-such-option"},
                         {"train"},
                         {"verify"},
                         {"write", "--samples", "0"},
                         {"verify", "--task", "x", "--target", "abacus"}}) {
    auto told = swage::test::swage(arguments);
    CHECK(told.code == 2);
    CHECK(told.out.empty());
    CHECK_FALSE(told.err.empty());
  }
}

TEST_CASE("a command that there is none of is named", "[tools][cli]") {
  auto told = run({"trian", "x.toml"});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("swage: trian is no command of swage"));
  CHECK_THAT(told.err, ContainsSubstring("did you mean train?"));
}

TEST_CASE("a missing configuration is named", "[tools][cli]") {
  auto told = run({"train", "no/such.toml"});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("no/such.toml"));
}

TEST_CASE("a wrong key is located and corrected", "[tools][cli]") {
  scratch folder;
  auto file = folder.file("x.toml", "[rollout]\ngroup_sise = 4\n");
  auto told = run({"train", file});
  CHECK(told.code == 2);
  CHECK(told.err
        == "swage: " + file
             + ":2:1: unknown key group_sise in [rollout]; the nearest known "
               "key is rollout.group_size\n");
}

TEST_CASE("a wrong override is refused like a file", "[tools][cli]") {
  scratch folder;
  auto file = folder.file("x.toml", "");
  auto told = run({"train", "--set", "rollout.group_size=0", file});
  CHECK(told.code == 2);
  CHECK(told.err
        == "swage: --set rollout.group_size=0: rollout.group_size: 0 is not a "
           "whole number from 1 to 1024\n");
  told = run({"train", file, "--set", "rollout.group_size=1"});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("contradicts run.stages"));
}

TEST_CASE("a dry run prints configuration and topology", "[tools][cli]") {
  scratch folder;
  auto file = folder.file("x.toml", "[actors]\nrollout = 4\n");
  auto out = folder.path("run");
  auto told = run({"train", file, "--set", "actors.verifier=8", "--dry-run",
                   "--out", out, "--set", "policy.path=configs/quickstart"});
  INFO(told.err);
  CHECK(told.code == 0);
  CHECK_THAT(told.out, ContainsSubstring("\nrollout = 4\n"));
  CHECK_THAT(told.out, ContainsSubstring("\nverifier = 8\n"));
  CHECK_THAT(told.out, ContainsSubstring("│ rollout × 4"));
  CHECK_THAT(told.out, ContainsSubstring("│ verifier × 8"));
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("help for knobs needs no configuration", "[tools][cli]") {
  auto told = run({"train", "--help-config"});
  CHECK(told.code == 0);
  CHECK_THAT(told.out, ContainsSubstring("\n[learner]\n"));
  CHECK_THAT(told.out, ContainsSubstring("\nseq_mask = \"mirrorpop\"\n"));
}

TEST_CASE("a policy that is missing is named", "[tools][cli]") {
  scratch folder;
  auto file = folder.file("x.toml", "[policy]\npath = \"no/such/policy\"\n");
  auto told = run({"train", file, "--dry-run"});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("policy.path"));
}

TEST_CASE("an operator that does not exist is located", "[tools][cli]") {
  scratch folder;
  auto file = folder.file("x.toml", "[tasks]\noperators = [\"relo\"]\n");
  auto told = run({"train", file, "--dry-run"});
  CHECK(told.code == 2);
  CHECK(told.err
        == "swage: " + file
             + ":2:13: tasks.operators: \"relo\" is not an operator; did you "
               "mean \"relu\"?\n");
}

TEST_CASE("an existing run is not overwritten", "[tools][cli]") {
  scratch folder;
  auto file = folder.file("x.toml", policy);
  std::filesystem::create_directories(folder.path("run"));
  folder.file("run/run.db", "something");
  auto told = run({"train", file, "--out", folder.path("run")});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("holds a run already"));
  CHECK(swage::test::content(folder.path("run/run.db")) == "something");
}

TEST_CASE("a setting that is not built is refused by name",
          "[tools][cli]") {
  for (auto [file, name] :
       {std::pair{"configs/published-cuda.toml", "verifier.target = \"cuda\""},
        {"configs/published-musa.toml", "verifier.target = \"musa\""}}) {
    auto told = run({"train", file, "--dry-run"});
    CHECK(told.code == 2);
    CHECK_THAT(told.err, ContainsSubstring(name));
  }
}

TEST_CASE("a fork says what it needs", "[tools][cli]") {
  scratch folder;
  auto file = folder.file("x.toml", policy);
  auto refusal = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"train", file});
    auto told = swage::test::swage(arguments);
    CHECK(told.code == 2);
    return told.err;
  };
  auto run = folder.path("run"), made = folder.path("new");
  CHECK_THAT(refusal({"--fork", "3"}), ContainsSubstring("--from RUN_DIR"));
  CHECK_THAT(refusal({"--from", run}), ContainsSubstring("--fork STEP"));
  CHECK_THAT(refusal({"--fork", "3", "--from", run}),
             ContainsSubstring("--out NEW_DIR"));
  CHECK_THAT(refusal({"--fork", "3", "--from", run, "--out", made, "--resume"}),
             ContainsSubstring("--resume"));
  CHECK_THAT(refusal({"--fork", "3", "--from", run, "--out", made}),
             ContainsSubstring("expected the folder of a run"));
  std::filesystem::create_directories(run);
  CHECK_THAT(refusal({"--fork", "3", "--from", run, "--out", run + "/."}),
             ContainsSubstring("a folder of its own"));
  CHECK_THAT(refusal({"--fork", "3", "--from", run, "--out", made}),
             ContainsSubstring("has no checkpoint of that step"));
  CHECK_FALSE(std::filesystem::exists(made));
}

TEST_CASE("verify refuses what is not built", "[tools][cli]") {
  scratch folder;
  for (auto [option, value, name] :
       {std::array{"--target", "cuda", "verifier.target = \"cuda\""},
        {"--target", "musa", "verifier.target = \"musa\""},
        {"--form", "module", "verifier.form = \"module\""}}) {
    auto told = run({"verify", "--task", folder.path("t.py"), "--candidate",
                     folder.path("k.py"), option, value});
    CHECK(told.code == 2);
    CHECK_THAT(told.err, ContainsSubstring(name));
  }
}

TEST_CASE("verify takes the knobs that it reads", "[tools][cli]") {
  scratch folder;
  auto refusal = [&](const char* knob) {
    auto told = run({"verify", "--task", folder.path("t.py"), "--candidate",
                     folder.path("k.cpp"), "--set", knob});
    CHECK(told.code == 2);
    return told.err;
  };
  CHECK_THAT(refusal("verifier.excessive_speedup=100"),
             ContainsSubstring("t.py"));
  CHECK_THAT(refusal("verifier.excessive_speedup=x"),
             ContainsSubstring("--set verifier.excessive_speedup=x"));
  CHECK_THAT(refusal("verifier.excessive_speedop=9"),
             ContainsSubstring("verifier.excessive_speedup"));
  CHECK_THAT(refusal("rollout.group_size=2"),
             ContainsSubstring("[verifier] or [reward]"));
}

TEST_CASE("an option's value is checked by its name", "[tools][cli]") {
  for (auto [option, value, expected] :
       {std::array{"--temperature", "nan", "a number from 0.01 to 10"},
        {"--temperature", "inf", "a number from 0.01 to 10"},
        {"--top-p", "nan", "a number from 0.01 to 1"},
        {"--samples", "-1", "a whole number from 1 to 65536"},
        {"--samples", "", "a whole number from 1 to 65536"},
        {"--seed", "-1", "a whole number from 0"},
        {"--task", "", "expected a value"}}) {
    auto told = run({"write", option, value});
    CHECK(told.code == 2);
    CHECK_THAT(told.err, ContainsSubstring(option));
    CHECK_THAT(told.err, ContainsSubstring(expected));
  }
  for (auto [option, value] : {std::pair{"--out", ""},
                               {"--node", ""},
                               {"--from", ""},
                               {"--fork", "-1"}}) {
    auto told = run({"train", "configs/quickstart.toml", option, value});
    CHECK(told.code == 2);
    CHECK_THAT(told.err, ContainsSubstring(std::string{option} + ": expected"));
  }
}

TEST_CASE("a dry run refuses the folder that a run would", "[tools][cli]") {
  scratch folder;
  auto file = folder.file("x.toml", policy);
  auto none = folder.path("none");
  for (auto dry : {true, false}) {
    std::vector<std::string> arguments = {"train", file, "--resume", "--out",
                                          none};
    if (dry)
      arguments.push_back("--dry-run");
    auto told = swage::test::swage(arguments);
    CHECK(told.code == 2);
    CHECK_THAT(told.err, ContainsSubstring(none));
    CHECK_FALSE(std::filesystem::exists(none));
  }
  folder.file("run.db", "something");
  auto told = run({"train", file, "--dry-run", "--out", folder.path("")});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("holds a run already"));
}

TEST_CASE("a node must be one of the nodes", "[tools][cli]") {
  scratch folder;
  auto alone = folder.file("alone.toml", policy);
  auto told = run({"train", alone, "--node", "a"});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("leave --node out"));
  auto file = folder.file("nodes.toml",
                          policy
                            + "[[cluster.node]]\nname = \"head\"\n"
                              "address = \"127.0.0.1:4242\"\n"
                              "actors = {rollout = 1, verifier = 1, "
                              "learner = 1}\n");
  for (auto arguments : {std::vector<std::string>{"train", file},
                         {"train", file, "--node", "b"},
                         {"train", file, "--node", "b", "--dry-run"}}) {
    told = swage::test::swage(arguments);
    CHECK(told.code == 2);
    CHECK_THAT(told.err,
               ContainsSubstring("expected --node NAME with one of head"));
  }
}

TEST_CASE("what is not there to inspect says so", "[tools][cli]") {
  scratch folder;
  auto told = run({"inspect", folder.path("nothing")});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("is not a folder"));
  told = run({"inspect", folder.path("")});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("has no config.toml"));
}

TEST_CASE("an unknown checkpoint is named by both", "[tools][cli]") {
  scratch folder;
  auto task = folder.file("t.py", "import torch\n");
  auto file = folder.file("x.toml", policy);
  for (auto arguments :
       {std::vector<std::string>{"write", "--checkpoint",
                                 folder.path("nothing"), "--task", task},
        {"eval", file, "--checkpoint", folder.path("nothing")},
        {"eval", file, "--checkpoint", folder.path("")}}) {
    auto told = swage::test::swage(arguments);
    CHECK(told.code == 2);
    CHECK_THAT(told.err, ContainsSubstring("checkpoint"));
  }
}

TEST_CASE("a damaged checkpoint is refused by its file", "[tools][cli]") {
  scratch folder;
  auto task = folder.file("t.py", "import torch\n");
  for (auto* name : {"config.json", "tokenizer.json", "model.safetensors"})
    folder.file(name, "{}");
  folder.file("manifest.json",
              R"({"step": 3, "hash": "0", "stage": "sft", "files":
                 {"model.safetensors": {"bytes": 2, "xxh3": "1"}}})");
  auto told
    = run({"write", "--checkpoint", folder.path(""), "--task", task});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("model.safetensors: its checksum"));
  folder.file("manifest.json", "");
  told = run({"write", "--checkpoint", folder.path(""), "--task", task});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("manifest.json: expected"));
}

TEST_CASE("an evaluation of no tasks is wrong use", "[tools][cli]") {
  scratch folder;
  for (auto* name : {"config.json", "tokenizer.json", "model.safetensors"})
    folder.file(name, "{}");
  auto file = folder.file("x.toml", "[tasks]\ntrain = 8\nheld_out = 4\n");
  auto told = run({"eval", file, "--checkpoint", folder.path(""), "--part",
                   "validation", "--set", "tasks.validation=0"});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("--part validation"));
}

TEST_CASE("files that verify lacks are named", "[tools][cli]") {
  scratch folder;
  auto told = run({"verify", "--task", folder.path("t.py"), "--candidate",
                   folder.path("k.cpp")});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("t.py"));
  auto task = folder.file("t.py", "class Model:\n    pass\n\n\ndef "
                                  "get_inputs():\n    return []\n");
  told = run({"verify", "--task", task, "--candidate", folder.path("k.cpp")});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("k.cpp"));
  told = run({"verify", "--task", task});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("--candidate"));
}

TEST_CASE("generated tasks are listed and shown", "[tools][cli]") {
  auto told = run({"tasks", "show", "--json"});
  INFO(told.err);
  REQUIRE(told.code == 0);
  auto list = nlohmann::json::parse(told.out)["tasks"];
  REQUIRE(list.size() == 64);
  auto id = list[0]["id"].get<std::string>();
  auto shown = run({"tasks", "show", "--id", id});
  CHECK(shown.code == 0);
  CHECK_THAT(shown.out, ContainsSubstring("class Model"));
  CHECK_THAT(shown.out, ContainsSubstring("void kernel("));
  auto missing = run({"tasks", "show", "--id", id + "x"});
  CHECK(missing.code == 2);
  CHECK_THAT(missing.err, ContainsSubstring("did you mean"));
}

TEST_CASE("a suite is shown whole", "[tools][cli]") {
  scratch folder;
  std::filesystem::create_directories(folder.path("tasks"));
  for (auto* name : {"tasks/a.py", "tasks/b.py", "tasks/c.py"})
    folder.file(name, std::string{"# "} + name
                        + "\nclass Model: pass\ndef get_inputs(): pass\n");
  auto tasks = folder.path("tasks");
  auto told = run({"tasks", "show", "--tasks", tasks, "--json"});
  INFO(told.err);
  REQUIRE(told.code == 0);
  CHECK(nlohmann::json::parse(told.out)["tasks"].size() == 3);
  told = run({"tasks", "show", "--tasks", tasks, "--part", "train"});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("--part"));
}

TEST_CASE("tasks that are missing are named by their option",
          "[tools][cli]") {
  scratch folder;
  auto none = folder.path("none");
  for (auto arguments :
       {std::vector<std::string>{"eval", "configs/quickstart.toml",
                                 "--checkpoint", folder.path("")},
        {"tasks", "show"}}) {
    arguments.insert(arguments.end(), {"--tasks", none});
    auto told = swage::test::swage(arguments);
    CHECK(told.code == 2);
    CHECK(told.err
          == "swage: expected the tasks of --tasks at " + none
               + ", found nothing there\n");
  }
}

TEST_CASE("each help ends with the exit statuses", "[tools][cli]") {
  for (auto* name : {"train", "eval", "verify", "write", "tasks", "inspect"})
    CHECK_THAT(run({name, "--help"}).out, ContainsSubstring("Exit status: 0"));
}

TEST_CASE("inspect refuses what it would not show", "[tools][cli]") {
  scratch folder;
  auto told = run({"inspect", folder.path(""), "--topology", "--task", "x"});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("--topology"));
  for (auto* limit : {"0", "2000000000"}) {
    told = run({"inspect", folder.path(""), "--limit", limit});
    CHECK(told.code == 2);
    CHECK_THAT(told.err, ContainsSubstring("from 1 to 100000"));
  }
}

TEST_CASE("what is no file does not hang", "[tools][cli]") {
  scratch folder;
  auto pipe = folder.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  auto task = folder.file("t.py", "class Model: pass\ndef get_inputs(): pass");
  folder.file("config.toml", policy);
  REQUIRE(::mkfifo(folder.path("run.db").c_str(), 0600) == 0);
  for (auto arguments :
       {std::vector<std::string>{"verify", "--task", pipe, "--candidate", "x"},
        {"verify", "--task", task, "--candidate", pipe},
        {"tasks", "show", "--tasks", pipe},
        {"tasks", "show", pipe},
        {"train", pipe, "--dry-run"},
        {"inspect", folder.path("")}}) {
    auto told = swage::test::swage(arguments);
    CHECK(told.code == 2);
    CHECK_THAT(told.err, ContainsSubstring(folder.path("")));
  }
}

namespace {

/// A configuration whose only node is to listen at `address`.
std::string at_address(const std::string& address) {
  return policy + "[tasks]\ntrain = 4\nvalidation = 0\nheld_out = 1\n"
         + "[[cluster.node]]\nname = \"head\"\naddress = \"" + address
         + "\"\nactors = {rollout = 1, verifier = 1, learner = 1}\n";
}

} // namespace

TEST_CASE("an address of another machine is refused at once",
          "[tools][cli]") {
  scratch folder;
  auto file = folder.file("x.toml", at_address("192.0.2.1:4242"));
  auto told = run({"train", file, "--node", "head", "--out",
                   folder.path("run")});
  CHECK(told.code == 2);
  CHECK_THAT(told.err, ContainsSubstring("node head cannot listen at "
                                         "192.0.2.1:4242: it is no address of "
                                         "this machine"));
  CHECK_THAT(told.err, !ContainsSubstring("restart"));
}

TEST_CASE("a port in use is tried again, then given up", "[tools][cli]") {
  scratch folder;
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* raw = reinterpret_cast<sockaddr*>(&where);
  socklen_t size = sizeof where;
  swage::descriptor taken{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  REQUIRE(::bind(taken.value(), raw, size) == 0);
  REQUIRE(::listen(taken.value(), 1) == 0);
  REQUIRE(::getsockname(taken.value(), raw, &size) == 0);
  auto address = "127.0.0.1:" + std::to_string(ntohs(where.sin_port));
  auto file = folder.file("x.toml", at_address(address));
  auto told = run({"train", file, "--node", "head", "--out",
                   folder.path("run"), "--set", "faults.max_restarts=1"});
  CHECK(told.code == 3);
  CHECK_THAT(told.err, ContainsSubstring("cannot listen at " + address
                                         + ": another process listens there"));
  CHECK_THAT(told.err, ContainsSubstring("(restart 1 of 1)"));
  CHECK_THAT(told.err, ContainsSubstring("gave up after 1 restarts in a row "
                                         "(faults.max_restarts)"));
}
