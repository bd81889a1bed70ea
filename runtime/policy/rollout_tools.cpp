#include "runtime/policy/rollout_tools.hpp"

#include "runtime/learn/advantage.hpp"
#include "runtime/task/prompt.hpp"
#include "runtime/task/synthesise.hpp"
#include "runtime/verify/start_engine.hpp"

namespace swage {

namespace {

std::vector<std::string> solution_texts(const task& what) {
  std::vector<std::string> out;
  if (auto solutions = synthesise(what))
    for (auto& one : *solutions)
      out.push_back(std::move(one.source));
  return out;
}

std::string first_text(const grant& from, const std::string& style) {
  return from.work.kind == item_kind::repair
           ? render_repair_prompt(from.what, from.work.failed_response,
                                  from.work.feedback, style)
           : render_prompt(from.what, style);
}

} // namespace

rollout_tools make_rollout_tools(const config& settings,
                                 std::shared_ptr<const tokenizer> tokens) {
  const auto style = settings.tasks.prompt;
  const auto end = end_of_text(*tokens);
  const auto reward = make_reward_options(settings.reward);
  const prime_echo echo{settings.reward.first_turn_weight,
                        settings.reward.early_bonus_first,
                        settings.reward.early_bonus_second};
  rollout_tools tools;
  tools.first_prompt = [=](const grant& from) {
    return tokens->encode(first_text(from, style));
  };
  tools.next_prompt = [=](const grant& from, const trajectory& sample) {
    auto& last = sample.turns.back();
    return tokens->encode(
      render_repair_prompt(from.what, last.text, last.feedback, style));
  };
  tools.decode = [=](const std::vector<int32_t>& response) {
    return tokens->decode(response);
  };
  tools.encode_response = [=](const std::string& text) {
    auto out = tokens->encode(text);
    out.push_back(end);
    return out;
  };
  tools.solutions = solution_texts;
  tools.score = [=](const verdict& outcome) {
    return score(outcome, reward);
  };
  tools.feedback = feedback_text;
  tools.ret = [=](const std::vector<double>& scores) {
    return trajectory_return(scores, echo);
  };
  return tools;
}

int32_t end_of_text(const tokenizer& tokens) {
  const auto chat = tokens.id("<|im_end|>");
  return chat >= 0 ? chat : tokens.id("<|endoftext|>");
}

} // namespace swage
