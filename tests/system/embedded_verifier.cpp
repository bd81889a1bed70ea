#include "actors/embedding.hpp"
#include "actors/verifier.hpp"
#include "runtime/task/suite.hpp"
#include "runtime/verify/start_engine.hpp"

#include <caf/scoped_actor.hpp>

#include <tl/expected.hpp>

#include <cstdio>
#include <fstream>
#include <iterator>

// A host application with verifiers in its own actor system:
//
//   embedded_verifier MODULE KERNEL
//
// judges a kernel against a module, and ends with 0 if it is right.

int judge(const char* module_file, const char* kernel_file) {
  swage::config settings;
  auto module = swage::load_task_file(module_file, settings.verifier).value();
  auto engine = swage::start_engine(settings.verifier).value();
  auto task = engine->load(module).value();
  caf::actor_system_config host;
  swage::configure(host, settings);
  caf::actor_system sys{host};
  if (auto ready = swage::check(sys, settings); !ready)
    throw tl::bad_expected_access{ready.error()};
  swage::progress_board counts;
  auto pool = swage::spawn_verifiers(
    sys, {swage::judge_of(std::move(engine))}, settings.verifier, counts);

  std::ifstream file{kernel_file};
  swage::verify_request request{
    .id = 1, .from = {"host", 1, 0}, .what = task,
    .response = {std::istreambuf_iterator<char>{file}, {}}};
  auto failed = [](const caf::error& why) {
    std::fprintf(stderr, "%s\n", caf::to_string(why).c_str());
  };
  int status = 2;
  caf::scoped_actor self{sys};
  swage::request(&*self, pool, 10, swage::credit_atom_v, request.from, 0u, 1u)
    .receive([](uint32_t) {}, failed);
  swage::request(&*self, pool, 300, swage::verify_atom_v, request)
    .receive(
      [&](const swage::verify_reply& reply) {
        auto& found = reply.outcome;
        std::printf("%s %s\n", swage::to_string(found.kind),
                    found.detail.c_str());
        status = found.kind == swage::category::ok ? 0 : 1;
      },
      failed);
  // An actor system waits for its actors.
  self->send_exit(pool, caf::exit_reason::user_shutdown);
  return status;
}

int main(int argc, char** argv) try {
  if (argc == 3)
    return judge(argv[1], argv[2]);
  std::fprintf(stderr, "wanted: MODULE KERNEL\n");
  return 2;
} catch (const tl::bad_expected_access<swage::error>& failed) {
  std::fprintf(stderr, "%s\n", failed.error().message.c_str());
  return 2;
}
