#include "runtime/verify/build.hpp"

#include "runtime/task/prototype.hpp"
#include "runtime/verify/build_cache.hpp"
#include "runtime/verify/compile_process.hpp"
#include "runtime/verify/content.hpp"
#include "runtime/verify/diagnostics.hpp"
#include "runtime/verify/toolchain.hpp"
#include "runtime/verify/translation_unit.hpp"

#include <fmt/format.h>

#include <chrono>
#include <system_error>
#include <utility>

namespace swage {

namespace {

/// Raised when a refusal is told in other words: it is kept with them.
constexpr int protocol = 2;

// Left by compilers that were killed where they had no private folder.
void remove_abandoned(const std::filesystem::path& scratch) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::create_directories(scratch, ignored);
  auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator it{scratch, ignored}, end; it != end;
       it.increment(ignored))
    if (now - it->last_write_time(ignored) > std::chrono::hours(1))
      fs::remove_all(it->path(), ignored);
}

} // namespace

struct builder::impl {
  builder_options options;
  swage::toolchain tools;
  build_cache cache;

  built compile(const std::string& source, const signature& args,
                const build_limits& limits, double& cpu_s) {
    built made = tl::unexpected(rejection{});
    for (auto before : toolchain::preludes(source)) {
      made = compile(source, args, limits, cpu_s, before);
      // Another prelude is no help where the time was over.
      if (made || !is_lasting(made.error().kind))
        break;
    }
    return made;
  }

  built compile(const std::string& source, const signature& args,
                const build_limits& limits, double& cpu_s,
                toolchain::prelude before) {
    compile_request what;
    what.worker = options.worker;
    what.command = tools.command(before);
    what.visible = tools.visible();
    what.source = source;
    what.scratch = options.cache / "scratch";
    what.timeout_s = limits.timeout_s;
    what.memory_bytes = limits.memory_bytes;
    what.stop = limits.stop;
    auto seen = run_compiler(what);
    if (!seen)
      return tl::unexpected(
        rejection{category::infra_worker, seen.error().message});
    cpu_s += seen->cpu_s;
    if (seen->stopped)
      return tl::unexpected(rejection{category::infra_worker, "stopped"});
    if (seen->code != 0 || seen->timed_out)
      return tl::unexpected(diagnose(*seen, prototype(args)));
    if (seen->output.empty())
      return tl::unexpected(
        rejection{category::infra_worker, "the compiler made no output"});
    return std::move(seen->output);
  }
};

builder::builder(std::unique_ptr<impl> self) : impl_(std::move(self)) {}

builder::~builder() = default;

result<std::unique_ptr<builder>> builder::create(builder_options options) {
  auto cache = build_cache::open(options.cache / "objects",
                                 options.max_cache_bytes);
  if (!cache)
    return tl::unexpected(cache.error());
  remove_abandoned(options.cache / "scratch");
  auto tools = toolchain::probe(options.worker, options.compiler,
                                options.prelude, options.cache / "prelude");
  if (!tools)
    return tl::unexpected(tools.error());
  return std::unique_ptr<builder>{new builder{std::make_unique<impl>(
    impl{std::move(options), std::move(*tools), std::move(*cache)})}};
}

tl::expected<artifact, rejection> builder::build(std::string_view code,
                                                 const signature& args,
                                                 const build_limits& limits) {
  auto start = std::chrono::steady_clock::now();
  artifact made;
  made.key = key(code, args);
  auto entry = impl_->cache.find(made.key);
  made.cached = entry.has_value();
  if (!entry) {
    entry = impl_->compile(translation_unit(code, args), args, limits,
                           made.cpu_s);
    if (*entry || is_lasting(entry->error().kind))
      impl_->cache.keep(made.key, *entry);
  }
  if (!*entry)
    return tl::unexpected(std::move(entry->error()));
  made.bytes = std::move(**entry);
  made.build_s = std::chrono::duration<double>(std::chrono::steady_clock::now()
                                               - start)
                   .count();
  return made;
}

std::string builder::key(std::string_view code, const signature& args) const {
  return content_hash(fmt::format("cpu {}\n{}\n{}", protocol, toolchain(),
                                  translation_unit(code, args)));
}

const std::string& builder::toolchain() const {
  return impl_->tools.identity();
}

} // namespace swage
