#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace swage {

/// Each struct is one TOML table; its knobs' ranges and help lines are in
/// knob_table.cpp, from which the loader, `--help-config` and the comments are
/// made.

struct run_config {
  std::string name = "run";
  uint64_t seed = 1;
  /// In order: teach, sft, rft, rl-single, rl-multi, eval, eval-validation.
  std::vector<std::string> stages = {"teach", "sft", "eval", "rl-single",
                                     "eval"};
  uint32_t checkpoint_interval = 25; ///< Steps.
  uint32_t keep_last = 3;            ///< Checkpoints.
  double time_limit_s = 0;           ///< 0: none. Ends an RL stage early.
};

struct policy_config {
  std::string path = "configs/quickstart";
  uint32_t max_tokens = 512; ///< Prompt and response together.
};

struct tasks_config {
  std::string suite = "generated"; ///< Or a folder / JSON-lines file.
  uint32_t train = 1000;
  uint32_t taught = 0; ///< Of the training tasks, the first; 0: all.
  uint32_t validation = 48;
  uint32_t held_out = 64;
  std::vector<double> level_weights = {0.5, 0.4, 0.1};
  std::vector<std::string> operators = {"all"}; ///< Of levels 1 and 2.
  uint32_t max_operators = 5;      ///< That a task of level 2 composes.
  uint64_t seed = 7;               ///< Of the generated sets; not the run's.
  std::string prompt = "compact";  ///< Or "full".
  uint32_t solutions_per_task = 4; ///< Synthesised, for teaching.
};

struct actors_config {
  uint32_t rollout = 1;
  uint32_t verifier = 1;
  uint32_t learner = 1;
};

struct rollout_config {
  uint32_t max_live = 128; ///< Sequences decoded at once by one rollout.
  uint32_t group_size = 8;
  uint32_t max_new_tokens = 256;
  double temperature = 1;
  double top_p = 1;
  uint32_t max_turns = 1;
  std::string kv_on_weight_update = "keep"; ///< Or "recompute".
  double eval_temperature = 0.7;
  double eval_top_p = 0.95;
  uint32_t eval_samples = 8;
  int32_t threads = 1;
};

struct verifier_config {
  std::string target = "cpu";
  std::string form = "function";
  uint32_t trials = 5;
  uint32_t stress = 2;
  double build_timeout_s = 30;
  double run_timeout_s = 10;
  bool measure = true;
  uint32_t timing_pairs = 15;
  double excessive_speedup = 10;
  std::string cache = ""; ///< Empty: under the user's cache folder.
  bool cache_verdicts = true;
  uint32_t max_attempts = 3; ///< Of a candidate whose verdict is `infra`.
};

struct buffer_config {
  uint32_t groups_per_batch = 8;
  uint32_t max_staleness = 2;
  std::string staleness_policy = "wait"; ///< Or "drop".
  bool dynamic_sampling = true;
  double min_spread = 0; ///< Of a group's returns, where sampling is dynamic.
  uint32_t max_rollouts_per_batch = 4096; ///< So many end the run.
  uint64_t max_buffered_bytes = 1'000'000'000;
  uint32_t max_attempts = 5; ///< Grants of one item.
  double lease_ttl_s = 60;
  double poll_hold_s = 2;
  double retry_probability = 0.1;
  uint32_t retry_capacity = 64;
  uint32_t retry_depth = 1;
  uint32_t retry_from_step = 0;   ///< Of the RL stage.
  uint32_t min_group = 2;         ///< Judged samples that a repair needs.
  uint32_t eval_concurrency = 64; ///< Items of teach, rft and eval at once.
  uint32_t max_deliveries = 3;
};

struct learner_config {
  double lr = 3e-4;
  std::string
    lr_schedule = "cosine"; ///< constant, linear or cosine to lr_final.
  double lr_final = 0.1;    ///< As a share of lr.
  double warmup = 0.1;      ///< Share of the stage's steps.
  double weight_decay = 0.1;
  double grad_clip = 0.5;
  uint32_t steps = 100; ///< Of the RL stage.
  double clip_low = 0.2;
  double clip_high = 0.28;
  double kl_coefficient = 0;
  double std_floor = 0.3;
  std::string
    seq_mask = "mirrorpop"; ///< none, mirrorpop, geometric, icepop, tis, random
  double seq_mask_delta = 0; ///< 0: auto, a multiple of the floor.
  double seq_mask_auto_factor = 4;
  double seq_mask_auto_min = 0.02;
  double icepop_low = 0.5; ///< Tokens below and above are masked.
  double icepop_high = 5;
  double tis_cap = 2;
  std::string token_mean = "group"; ///< Or "batch".
  std::string mask_denominator = "kept"; ///< Or "all".
  double sft_lr = 3e-3;
  double sft_weight_decay = 0.01;
  double sft_warmup = 0.03;
  uint32_t sft_steps = 600;
  uint32_t sft_batch = 24; ///< Examples a step.
  int32_t sft_threads = 0; ///< 0: one per core.
  uint32_t micro_batch_tokens = 2048;
  int32_t threads = 1;
};

struct reward_config {
  double speed_weight = 0.5;
  double max_speed_bonus = 2;
  double timed_share = 1;           ///< Of the groups of training.
  double first_turn_weight = 0.75;  ///< alpha of PrimeEcho
  double early_bonus_first = 0.15;  ///< beta_1
  double early_bonus_second = 0.08; ///< beta_2
};

struct weights_config {
  std::string transport = "auto"; ///< Or "local" or "message".
  uint64_t chunk_bytes = 1 << 20;
};

struct faults_config {
  double beat_interval_s = 1;
  double detection_s = 5; ///< < lease_ttl_s < stall_timeout_s
  double stall_timeout_s = 600;
  uint32_t max_restarts = 5;
  double request_timeout_s = 30;
  double drain_timeout_s = 30;
};

struct node_config {
  std::string name;
  std::string address; ///< host:port; the head's is where others join.
  actors_config actors;
};

struct cluster_config {
  std::string head = "head";
  std::vector<node_config> nodes; ///< Empty: one process does everything.
  uint64_t max_message_bytes = 4 << 20;
  std::string tls_certificate, tls_key, tls_ca; ///< All or none.
};

/// A whole configuration file.
struct config {
  run_config run;
  policy_config policy;
  tasks_config tasks;
  actors_config actors;
  rollout_config rollout;
  verifier_config verifier;
  buffer_config buffer;
  learner_config learner;
  reward_config reward;
  weights_config weights;
  faults_config faults;
  cluster_config cluster;
};

} // namespace swage
