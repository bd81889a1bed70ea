#include "runtime/verify/judge_client.hpp"

#include "runtime/task/operators.hpp"
#include "runtime/verify/content.hpp"
#include "runtime/verify/python_process.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <unordered_map>

namespace swage {

namespace {

using nlohmann::json;
using task_ptr = std::shared_ptr<const judged_task>;

constexpr std::array kinds = {"plain", "signed", "large", "small"};

constexpr double load_timeout_s = 180;
constexpr size_t max_known = 4096;

/// A reference may be slow, but not slower than when it was loaded by this.
double patience_for(const judged_task& what, size_t cases) {
  return 30 + 20 * what.forward_s * static_cast<double>(cases);
}

result<std::vector<tensor_spec>> tensors(const json& rows) {
  std::vector<tensor_spec> out;
  for (const auto& row : rows) {
    tensor_spec spec;
    spec.name = row.at("name");
    spec.shape = row.at("shape").get<std::vector<int64_t>>();
    spec.strides = row.at("strides").get<std::vector<int64_t>>();
    auto type = row.at("dtype").get<std::string>();
    if (!from_string(type, spec.type))
      return fail(ec::infra, fmt::format("the judge names a type '{}'", type));
    out.push_back(std::move(spec));
  }
  return out;
}

result<judged_task> parse(const json& reply) try {
  judged_task out;
  const auto& args = reply.at("signature");
  for (auto [name, list] : {std::pair{"inputs", &out.args.inputs},
                            std::pair{"state", &out.args.state},
                            std::pair{"outputs", &out.args.outputs}}) {
    auto parsed = tensors(args.at(name));
    if (!parsed)
      return tl::unexpected{parsed.error()};
    *list = std::move(*parsed);
  }
  for (const auto& row : args.at("constants"))
    out.constants.push_back({row.at("name"), row.at("value")});
  for (const auto& name : reply.at("kinds")) {
    case_kind kind{};
    if (from_string(name.get<std::string>(), kind))
      out.stress.push_back(kind);
  }
  out.forward_s = reply.at("forward_s");
  out.can_splice = reply.at("can_splice");
  const auto& facts = reply.at("facts");
  out.changed_inputs = facts.at("changed_inputs").get<std::vector<int64_t>>();
  out.changed_state = facts.at("changed_state").get<std::vector<int64_t>>();
  out.free_state = facts.at("free_state").get<std::vector<int64_t>>();
  return out;
} catch (const json::exception& reason) {
  return fail(ec::infra,
              fmt::format("the judge's answer is not as agreed: {}",
                          reason.what()));
}

json to_json(const judge_case& x, uint64_t case_bytes) {
  json out{{"seed", std::to_string(x.seed)},
           {"kind", to_string(x.kind)},
           {"base", x.which * case_bytes}};
  if (x.state)
    out["state"] = std::to_string(*x.state);
  if (x.change)
    out["change"] = std::to_string(*x.change);
  return out;
}

json offsets(const std::vector<tensor_slot>& slots) {
  auto out = json::array();
  for (const auto& slot : slots)
    out.push_back(slot.offset);
  return out;
}

/// The operator table as far as a reference can be told by it.
json operator_list() {
  constexpr std::array shapes = {"none",    "one",    "last",
                                 "channel", "matrix", "feature"};
  auto list = json::array();
  for (const auto& row : operators()) {
    auto owned = json::array();
    for (auto kind : row.parameters)
      if (kind != parameter_kind::none)
        owned.push_back(shapes[static_cast<size_t>(kind)]);
    list.push_back({{"name", row.name},
                    {"python", row.python},
                    {"parameters", std::move(owned)},
                    {"counts_features", row.kind == family::linear},
                    {"on_last_axis",
                     row.kind == family::normalise
                       && row.parameters[0] == parameter_kind::last}});
  }
  return list;
}

json request(const char* op, const judged_task& what,
             std::span<const judge_case> cases, const judge_file& into) {
  auto list = json::array();
  for (const auto& x : cases)
    list.push_back(to_json(x, into.layout->bytes));
  return {{"op", op}, {"key", what.key}, {"cases", std::move(list)}};
}

} // namespace

const char* to_string(case_kind kind) {
  return kinds[static_cast<size_t>(kind)];
}

bool from_string(const std::string& text, case_kind& kind) {
  for (size_t i = 0; i < kinds.size(); ++i)
    if (text == kinds[i]) {
      kind = static_cast<case_kind>(i);
      return true;
    }
  return false;
}

struct judge_client::impl {
  python_program program;
  uint64_t secret = 0;
  std::unique_ptr<python_process> process;
  std::unordered_map<std::string, task_ptr> known;
  std::unordered_map<std::string, error> invalid;
  uint64_t restarts = 0;
  double ended_cpu_s = 0;

  result<json> ask(const json& what, std::span<const int> fds,
                   double timeout_s, const std::stop_token& stop) {
    if (!process || !process->alive()) {
      auto made = python_process::start(program);
      if (!made)
        return tl::unexpected{made.error()};
      process = std::move(*made);
      ++restarts;
    }
    auto before = process->cpu_s();
    auto reply = process->ask(what, fds, timeout_s, stop);
    if (!process->alive())
      ended_cpu_s += before;
    return reply;
  }

  json load_request(const std::string& key, const std::string& source) const {
    return {{"op", "load"},
            {"key", key},
            {"source", source},
            {"seed", std::to_string(seed_of(key))}};
  }

  /// A task whose code ends the interpreter is an invalid task, and no fault
  /// of ours. Twice, so that a judge that died before is not laid to it.
  result<json> load(const std::string& key, const std::string& source,
                    const std::stop_token& stop) {
    for (int attempt = 0;; ++attempt) {
      auto reply = ask(load_request(key, source), {}, load_timeout_s, stop);
      if (reply || !process || process->own_end().empty()
          || reply.error().code != ec::infra)
        return reply;
      if (attempt > 0)
        return json{{"ok", false},
                    {"kind", "task_invalid"},
                    {"what", fmt::format("the reference ends the interpreter "
                                         "({})",
                                         process->own_end())}};
    }
  }

  uint64_t seed_of(const std::string& key) const {
    return XXH3_64bits_withSeed(key.data(), key.size(), secret);
  }

  /// One request about a loaded task, which is sent again if the judge does
  /// not know it any more.
  result<void> ask_about(const judged_task& what, const json& message, int fd,
                         size_t cases) {
    for (int attempt = 0;; ++attempt) {
      std::array fds{fd};
      auto reply = ask(message, fds, patience_for(what, cases), {});
      if (!reply)
        return tl::unexpected{reply.error()};
      auto status = check(*reply);
      if (status || status.error().code != ec::not_found || attempt > 0)
        return status;
      auto again = load(what.key, what.reference, {});
      if (!again)
        return tl::unexpected{again.error()};
      if (status = check(*again); !status)
        return status;
    }
  }

  static result<void> check(const json& reply) {
    if (reply.value("ok", false))
      return {};
    auto kind = reply.value("kind", std::string{});
    auto what = reply.value("what", std::string{"no reason"});
    if (kind == "task_invalid")
      return fail(ec::task_invalid, what);
    if (kind == "unknown")
      return fail(ec::not_found, what);
    return fail(ec::infra, "the judge: " + what);
  }
};

judge_client::judge_client(std::unique_ptr<impl> self)
  : impl_{std::move(self)} {
}

judge_client::~judge_client() = default;

result<std::unique_ptr<judge_client>>
judge_client::start(std::filesystem::path python,
                    std::filesystem::path library, uint64_t secret) {
  auto self = std::make_unique<impl>();
  self->program.python = std::move(python);
  self->program.script = library / "judge.py";
  self->secret = secret;
  auto process = python_process::start(self->program);
  if (!process)
    return tl::unexpected{process.error()};
  self->process = std::move(*process);
  return std::unique_ptr<judge_client>{new judge_client{std::move(self)}};
}

result<task_ptr> judge_client::load(const task& what,
                                    const std::stop_token& stop) {
  auto key = content_hash(what.reference);
  if (auto i = impl_->known.find(key); i != impl_->known.end())
    return i->second;
  if (auto i = impl_->invalid.find(key); i != impl_->invalid.end())
    return tl::unexpected{i->second};
  auto reply = impl_->load(key, what.reference, stop);
  if (!reply)
    return tl::unexpected{reply.error()};
  if (impl_->known.size() + impl_->invalid.size() >= max_known) {
    impl_->known.clear();
    impl_->invalid.clear();
  }
  if (auto status = impl::check(*reply); !status) {
    if (status.error().code == ec::task_invalid)
      impl_->invalid.emplace(key, status.error());
    return tl::unexpected{status.error()};
  }
  auto parsed = parse(*reply);
  if (!parsed)
    return tl::unexpected{parsed.error()};
  parsed->key = key;
  parsed->reference = what.reference;
  parsed->seed = impl_->seed_of(key);
  auto loaded = std::make_shared<const judged_task>(std::move(*parsed));
  impl_->known.emplace(key, loaded);
  return loaded;
}

result<std::string> judge_client::read_program(const judged_task& what) {
  auto reply = impl_->ask({{"op", "program"},
                           {"key", what.key},
                           {"operators", operator_list()}},
                          {}, load_timeout_s, {});
  if (!reply)
    return tl::unexpected{reply.error()};
  if (auto status = impl::check(*reply); !status)
    return tl::unexpected{status.error()};
  return reply->value("program", std::string{});
}

result<void> judge_client::draw(const judged_task& what,
                                std::span<const judge_case> cases,
                                const judge_file& into,
                                const draw_options& how) {
  auto message = request("inputs", what, cases, into);
  message["inputs"] = offsets(into.layout->inputs);
  message["keep"] = how.keep;
  message["more"] = how.more;
  if (how.state)
    message["state"] = offsets(into.layout->state);
  return impl_->ask_about(what, message, into.fd, cases.size());
}

result<void> judge_client::compute(const judged_task& what,
                                   std::span<const judge_case> cases,
                                   const judge_file& into) {
  auto message = request("outputs", what, cases, into);
  message["outputs"] = offsets(into.layout->outputs);
  return impl_->ask_about(what, message, into.fd, cases.size());
}

result<std::vector<mutant>> judge_client::mutants(const judged_task& what,
                                                  size_t most) {
  auto reply = impl_->ask({{"op", "mutants"},
                           {"source", what.reference},
                           {"most", most}},
                          {}, load_timeout_s, {});
  if (!reply)
    return tl::unexpected{reply.error()};
  if (auto status = impl::check(*reply); !status)
    return tl::unexpected{status.error()};
  std::vector<mutant> out;
  for (const auto& row : reply->at("mutants"))
    out.push_back({row.at(0), row.at(1)});
  return out;
}

result<void> judge_client::compute_altered(const judged_task& what,
                                           const mutant& as,
                                           std::span<const judge_case> cases,
                                           const judge_file& into) {
  auto message = request("altered", what, cases, into);
  message["outputs"] = offsets(into.layout->outputs);
  message["source"] = as.source;
  message["seed"] = std::to_string(what.seed);
  return impl_->ask_about(what, message, into.fd, cases.size());
}

const std::vector<std::string>& judge_client::answers() {
  static const std::vector<std::string> all{"zeros", "mean", "another input",
                                            "input"};
  return all;
}

result<void> judge_client::compute_answer(const judged_task& what,
                                          const std::string& answer,
                                          std::span<const judge_case> cases,
                                          const judge_file& into) {
  auto message = request("answers", what, cases, into);
  message["outputs"] = offsets(into.layout->outputs);
  message["answer"] = answer;
  return impl_->ask_about(what, message, into.fd, cases.size());
}

result<std::string>
judge_client::torch_version(const std::stop_token& stop) {
  auto reply = impl_->ask({{"op", "about"}}, {}, load_timeout_s, stop);
  if (!reply)
    return tl::unexpected{reply.error()};
  return reply->value("torch", std::string{"unknown"});
}

double judge_client::cpu_s() const {
  return impl_->ended_cpu_s
         + (impl_->process ? impl_->process->cpu_s() : 0.0);
}

uint64_t judge_client::restarts() const {
  return impl_->restarts;
}

} // namespace swage
