#include "runtime/config/knobs.hpp"
#include "tools/swage/commands.hpp"
#include "tools/swage/option_checks.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/prctl.h>

namespace swage {

namespace {

/// A first argument that names no subcommand, with the nearest that there is:
/// the parser would only say that one is required.
std::optional<std::string> wrong_command(CLI::App& app, int argc,
                                         char** argv) {
  if (argc < 2 || argv[1][0] == '-')
    return std::nullopt;
  std::string given = argv[1];
  std::vector<std::string> names;
  for (auto* one : app.get_subcommands([](CLI::App*) { return true; }))
    names.push_back(one->get_name());
  if (std::ranges::find(names, given) != names.end())
    return std::nullopt;
  auto near = nearest(given, std::vector<std::string_view>{names.begin(),
                                                           names.end()});
  return fmt::format("{} is no command of swage, which has {}{}", given,
                     fmt::join(names, ", "),
                     near.empty() ? "" : "; did you mean " + near + "?");
}

int run(int argc, char** argv) {
  CLI::App app{"Trains language models to write fast compute kernels, and "
               "judges kernels."};
  app.name("swage");
  app.set_version_flag("--version", "swage " SWAGE_VERSION);
  app.require_subcommand(1);
  std::vector<action> actions = {add_train(app),  add_eval(app),
                                 add_verify(app), add_write(app),
                                 add_tasks(app),  add_inspect(app)};
  refuse_empty_values(app);
  if (auto wrong = wrong_command(app, argc, argv))
    return report({ec::invalid_argument, *wrong});
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // Help and version are no errors; everything else is wrong use.
    return app.exit(e) == 0 ? 0 : 2;
  }
  auto all = app.get_subcommands([](CLI::App*) { return true; });
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i]->parsed())
      return actions[i]();
  return 2;
}

} // namespace

int report(const error& what) {
  fmt::print(stderr, "swage: {}\n", what.message);
  return exit_status(what.code);
}

} // namespace swage

int main(int argc, char** argv) try {
  // A node is started through /proc/self/exe and would be listed as "exe".
  ::prctl(PR_SET_NAME, "swage");
  return swage::run(argc, argv);
} catch (const std::bad_alloc&) {
  fmt::print(stderr, "swage: out of memory\n");
  return 3;
} catch (const std::exception& e) {
  fmt::print(stderr, "swage: {}\n", e.what());
  return 3;
}
