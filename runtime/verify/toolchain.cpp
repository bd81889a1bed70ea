#include "runtime/verify/toolchain.hpp"

#include "runtime/verify/compile_process.hpp"
#include "runtime/verify/content.hpp"
#include "runtime/verify/worker_process.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <system_error>

namespace swage {

namespace fs = std::filesystem;

namespace {

constexpr double probe_timeout_s = 120;

// -fPIC and -fopenmp are part of what a precompiled header must agree on.
const std::vector<std::string> language_flags = {"-std=c++20",
                                                 "-O3",
                                                 "-march=native",
                                                 "-ffast-math",
                                                 "-fopenmp",
                                                 "-fPIC",
                                                 "-fno-diagnostics-show-caret",
                                                 "-fdiagnostics-color=never",
                                                 "-fmax-errors=6",
                                                 "-w"};

// Raised when translation_unit.cpp changes, or which preludes are tried.
constexpr int wrapper_version = 2;

// -march=native means another thing on another processor.
std::string processor() {
  std::istringstream lines{content_of("/proc/cpuinfo")};
  std::string line, text;
  while (std::getline(lines, line) && !line.empty())
    if (line.starts_with("model name") || line.starts_with("flags")
        || line.starts_with("Features") || line.starts_with("CPU part"))
      text += line + "\n";
  return text;
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return ::access(name.c_str(), X_OK) == 0 ? name : "";
  const auto* path = std::getenv("PATH");
  std::istringstream folders{path != nullptr ? path : "/usr/bin:/bin"};
  std::string folder;
  while (std::getline(folders, folder, ':')) {
    auto full = (fs::path{folder} / name).string();
    if (::access(full.c_str(), X_OK) == 0)
      return full;
  }
  return "";
}

std::vector<std::string> system_paths(const std::string& compiler) {
  std::vector<std::string> paths;
  for (const auto* path :
       {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt",
        "/etc/alternatives", "/etc/ld.so.cache", "/dev/null"}) {
    std::error_code ignored;
    if (fs::exists(path, ignored))
      paths.emplace_back(path);
  }
  // A compiler of the user's own comes with libraries beside its folder.
  if (!compiler.starts_with("/usr/") && !compiler.starts_with("/bin/")
      && !compiler.starts_with("/opt/"))
    paths.push_back(fs::path{compiler}.parent_path().parent_path().string());
  return paths;
}

bool names_any(std::string_view source,
               std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](auto name) {
    return source.find(name) != std::string_view::npos;
  });
}

// Such as _pext_u32, and much that is no intrinsic (__restrict).
bool has_reserved_name(std::string_view source) {
  for (size_t i = 0; i < source.size(); ++i) {
    auto before = i == 0 ? ' ' : source[i - 1];
    if (source[i] == '_' && before != '_'
        && std::isalnum(static_cast<unsigned char>(before)) == 0)
      return true;
  }
  return false;
}

std::string first_line_with(const std::string& text, std::string_view part) {
  std::istringstream lines{text};
  std::string line;
  while (std::getline(lines, line))
    if (line.find(part) != std::string::npos)
      return line;
  return "";
}

} // namespace

struct toolchain::probing {
  fs::path worker;
  std::string compiler;
  std::vector<std::string> visible;

  result<compile_outcome> run(std::vector<std::string> flags,
                              std::string_view source = {}) const {
    compile_request what;
    what.worker = worker;
    what.command = std::move(flags);
    what.command.insert(what.command.begin(), compiler);
    what.visible = visible;
    what.source = source;
    what.timeout_s = probe_timeout_s;
    return run_compiler(what);
  }

  // The given flags if a shared object can be linked with them, else none.
  std::vector<std::string>
  if_links(const std::vector<std::string>& flags) const {
    std::vector<std::string> command = {"-shared", "-fPIC", "-x", "c++",
                                        "-",       "-o",    "out"};
    command.insert(command.end(), flags.begin(), flags.end());
    auto seen = run(command, "extern \"C\" int one() { return 1; }\n");
    bool ok = seen && seen->code == 0 && !seen->output.empty();
    return ok ? flags : std::vector<std::string>{};
  }

  result<std::string> version() const {
    auto seen = run({"-v"});
    if (!seen)
      return tl::unexpected(seen.error());
    auto line = first_line_with(seen->errors, " version ");
    if (seen->code != 0 || line.empty())
      return fail(ec::infra,
                  fmt::format("'{} -v' failed with status {}: {}", compiler,
                              seen->code, seen->errors.substr(0, 400)));
    return line + "\n" + first_line_with(seen->errors, "Target: ");
  }

  // Puts prelude.hpp and its precompiled form into the folder, once.
  result<void> precompile(const std::string& prelude,
                          const fs::path& folder) const {
    std::error_code code;
    fs::create_directories(folder, code);
    // Held by the process, so that a killed one leaves no lock behind.
    descriptor lock{
      ::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)};
    if (!lock || ::flock(lock.value(), LOCK_EX) != 0)
      return fail(ec::io, fmt::format("cannot lock the prelude's folder '{}'",
                                      folder.string()));
    auto ready = folder / "prelude.hpp.gch";
    if (fs::exists(ready, code))
      return {};
    auto header = folder / "prelude.hpp";
    std::ofstream{header, std::ios::binary} << prelude;
    auto flags = language_flags;
    flags.insert(flags.end(),
                 {"-x", "c++-header", header.string(), "-o", "out"});
    auto with_folder = *this;
    with_folder.visible.push_back(folder.string());
    auto seen = with_folder.run(flags);
    if (!seen)
      return tl::unexpected(seen.error());
    if (seen->code != 0 || seen->output.empty())
      return fail(ec::infra, fmt::format("the prelude does not compile: {}",
                                         seen->errors.substr(0, 1000)));
    auto beside = folder / "prelude.hpp.gch.new";
    std::ofstream file{beside, std::ios::binary};
    file << seen->output;
    file.close();
    if (!file.good())
      return fail(ec::io, fmt::format("cannot write '{}'", beside.string()));
    fs::rename(beside, ready, code);
    if (code)
      return fail(ec::io, fmt::format("cannot rename '{}': {}", beside.string(),
                                      code.message()));
    return {};
  }
};

result<toolchain> toolchain::probe(const fs::path& worker,
                                   const std::string& compiler,
                                   const fs::path& prelude,
                                   const fs::path& folder) {
  auto program = find_program(compiler);
  if (program.empty())
    return fail(ec::not_found, fmt::format("expected a C++ compiler '{}' in "
                                           "PATH, found none; install g++",
                                           compiler));
  auto text = content_of(prelude);
  auto of_c = content_of(fs::path{prelude}.replace_filename("prelude_c.hpp"));
  if (text.empty() || of_c.empty())
    return fail(ec::not_found, fmt::format("expected the candidates' prelude "
                                           "at '{}' and prelude_c.hpp beside "
                                           "it, found nothing to read",
                                           prelude.string()));
  probing with{worker, program, system_paths(program)};
  auto version = with.version();
  if (!version)
    return tl::unexpected(version.error());
  toolchain made;
  auto common = fmt::format("{}\n{}\n{}\n", *version,
                            fmt::join(language_flags, " "), processor());
  made.visible_ = with.visible;
  auto place = [&](const std::string& content) -> result<std::string> {
    auto path = fs::absolute(folder) / content_hash(common + content);
    if (auto done = with.precompile(content, path); !done)
      return tl::unexpected(done.error());
    made.visible_.push_back(path.string());
    return (path / "prelude.hpp").string();
  };
  auto plain = place(text);
  auto intrinsics = plain ? place("#include <immintrin.h>\n" + text) : plain;
  auto lean = intrinsics ? place(of_c) : intrinsics;
  if (!lean)
    return tl::unexpected(lean.error());
  made.lean_ = *lean;
  made.plain_ = *plain;
  made.intrinsics_ = *intrinsics;
  made.compiler_ = language_flags;
  made.compiler_.insert(made.compiler_.begin(), program);
  made.rest_ = {"-x", "c++", "-", "-shared", "-o", "out", "-Wl,-z,defs"};
  auto append = [](std::vector<std::string>& to, auto flags) {
    to.insert(to.end(), flags.begin(), flags.end());
  };
  append(made.rest_, with.if_links({"-fuse-ld=mold"}));
  append(made.rest_, with.if_links({"-Wl,--as-needed", "-lmvec"}));
  made.lean_rest_ = made.rest_;
  append(made.lean_rest_, with.if_links({"-nodefaultlibs", "-lm", "-lgomp",
                                         "-lc"}));
  made.identity_ = fmt::format("{}{}\n{}\n{}", common,
                               fmt::join(made.lean_rest_, " "),
                               content_hash(text + of_c),
                               wrapper_version);
  return made;
}

auto toolchain::preludes(std::string_view source) -> std::vector<prelude> {
  if (names_any(source, {"_mm", "__m", "immintrin"}))
    return {prelude::intrinsics};
  std::vector<prelude> list;
  if (!names_any(source, {"::", "std", "omp_", "include", "__"}))
    list.push_back(prelude::lean);
  list.push_back(prelude::plain);
  if (has_reserved_name(source))
    list.push_back(prelude::intrinsics);
  return list;
}

std::vector<std::string> toolchain::command(prelude before) const {
  auto whole = compiler_;
  whole.insert(whole.end(),
               {"-include", before == prelude::lean    ? lean_
                            : before == prelude::plain ? plain_
                                                       : intrinsics_});
  const auto& rest = before == prelude::lean ? lean_rest_ : rest_;
  whole.insert(whole.end(), rest.begin(), rest.end());
  return whole;
}

} // namespace swage
