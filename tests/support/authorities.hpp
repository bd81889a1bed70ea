#pragma once

#include "runtime/cluster/probe.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

namespace swage::test {

/// Keys and certificates of two authorities, made by the openssl program.
struct authorities {
  authorities() : path(std::filesystem::temp_directory_path()
                       / fmt::format("swage-probe-{}", ::getpid())) {
    std::filesystem::create_directories(path);
    for (auto* name : {"ours", "theirs"}) {
      run(fmt::format("openssl req -x509 -newkey ec -pkeyopt "
                      "ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN={0}-ca "
                      "-keyout {0}-ca.key -out {0}-ca.pem",
                      name));
      run(fmt::format("openssl req -newkey ec -pkeyopt "
                      "ec_paramgen_curve:P-256 -nodes -subj /CN={0} "
                      "-keyout {0}.key -out {0}.csr",
                      name));
      run(fmt::format("openssl x509 -req -in {0}.csr -CA {0}-ca.pem -CAkey "
                      "{0}-ca.key -CAcreateserial -days 2 -out {0}.pem",
                      name));
    }
  }
  ~authorities() { std::filesystem::remove_all(path); }

  void run(const std::string& command) const {
    auto whole = "cd " + path.string() + " && " + command + " 2>log";
    INFO(whole);
    REQUIRE(std::system(whole.c_str()) == 0);
  }

  /// What a node of `name` has, trusting `trusted`.
  tls_files of(const std::string& name, const std::string& trusted) const {
    return {(path / (name + ".pem")).string(), (path / (name + ".key")).string(),
            (path / (trusted + "-ca.pem")).string()};
  }

  std::filesystem::path path;
};

} // namespace swage::test
