#include "runtime/buffer/schema.hpp"

namespace swage {

const char* const create_journal = R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE stage(
  idx INTEGER PRIMARY KEY,   -- position in run.stages
  name TEXT NOT NULL,
  version INTEGER NOT NULL,  -- newest committed when it began
  over INTEGER NOT NULL,
  cut INTEGER NOT NULL);     -- ended early on request

CREATE TABLE epoch(
  epoch INTEGER PRIMARY KEY, -- one per learner that attached
  node TEXT NOT NULL, incarnation INTEGER NOT NULL, actor INTEGER NOT NULL);

CREATE TABLE item(
  id INTEGER PRIMARY KEY,
  stage INTEGER NOT NULL,
  kind TEXT NOT NULL,        -- task, repair, example, eval
  task TEXT NOT NULL, level INTEGER NOT NULL,
  samples INTEGER NOT NULL,  -- how many it consists of
  attempts INTEGER NOT NULL, -- how often it was granted
  state TEXT NOT NULL,       -- queued, open, verified, assigned, or an end
  reason TEXT NOT NULL,      -- why it was discarded
  step INTEGER NOT NULL,     -- its batch; ended: the newest batch then
  depth INTEGER NOT NULL,    -- of repairs
  parent INTEGER UNIQUE,     -- the item that this one repairs
  failed_response TEXT, feedback TEXT);

CREATE TABLE sample(
  item INTEGER NOT NULL, idx INTEGER NOT NULL,
  category TEXT NOT NULL,    -- of the turn that counts: the best one
  success INTEGER NOT NULL,  -- correct and legal, score at least 1
  speedup REAL,              -- against eager; NULL: not measured
  score REAL, ret REAL,      -- reward of that turn; return of the trajectory
  first_score REAL, turns INTEGER NOT NULL, pass_fraction REAL,
  tokens INTEGER NOT NULL,   -- response tokens of all turns
  oldest INTEGER, newest INTEGER, -- versions: trained tokens; all tokens
  dropped INTEGER NOT NULL,  -- infra or an invalid task: never charged
  failed INTEGER NOT NULL,   -- score -1 at every turn
  granted REAL, first_token REAL, last_token REAL, verified REAL,
  stored REAL, trained REAL, -- hops, seconds since the Unix epoch
  step INTEGER,              -- the RL batch that it is in
  mean_abs REAL, mean_signed REAL, floor REAL, staleness INTEGER,
  kept INTEGER,              -- the mirror's judgement; 0: masked
  response TEXT, feedback TEXT, detail TEXT,
  text_hash INTEGER NOT NULL, bytes INTEGER NOT NULL,
  payload BLOB,              -- tokens and log-probabilities, while needed
  weights BLOB,              -- of its tokens (float32), likewise; NULL: none
  PRIMARY KEY(item, idx)) WITHOUT ROWID;
CREATE INDEX sample_step ON sample(step) WHERE step IS NOT NULL;

CREATE TABLE batch(
  step INTEGER PRIMARY KEY,
  stage INTEGER NOT NULL,
  hash INTEGER NOT NULL,     -- h_step of the chain
  deliveries INTEGER NOT NULL, epoch INTEGER NOT NULL,
  committed INTEGER NOT NULL, voided INTEGER NOT NULL,
  loss REAL, grad_norm REAL, lr REAL, clip_fraction REAL, entropy REAL,
  mean_return REAL, mean_abs_log_ratio REAL, tokens INTEGER, samples INTEGER,
  kept INTEGER, stepped INTEGER, wait_s REAL, train_s REAL, publish_s REAL);

-- An item is trained in one batch only; examples of SFT may repeat.
CREATE TABLE batch_item(
  item INTEGER PRIMARY KEY, step INTEGER NOT NULL);

CREATE TABLE batch_sample(
  step INTEGER NOT NULL, position INTEGER NOT NULL,
  item INTEGER NOT NULL, idx INTEGER NOT NULL, kind TEXT NOT NULL,
  PRIMARY KEY(step, position)) WITHOUT ROWID;

CREATE TABLE drift(
  step INTEGER PRIMARY KEY,
  mean_abs_p50 REAL, mean_abs_p90 REAL, mean_abs_max REAL,
  mean_signed_p50 REAL, floor REAL, staleness_mean REAL,
  staleness_max INTEGER, samples INTEGER, masked_positive INTEGER,
  masked_negative INTEGER, masked_zero INTEGER, delta REAL,
  tokens INTEGER,            -- that were weighed (icepop, tis)
  masked_tokens INTEGER, capped_tokens INTEGER);

CREATE TABLE checkpoint(step INTEGER PRIMARY KEY, hash INTEGER NOT NULL);
)sql";

const char* const upgrade_journal = R"sql(
ALTER TABLE sample ADD COLUMN weights BLOB;
ALTER TABLE drift ADD COLUMN tokens INTEGER;
ALTER TABLE drift ADD COLUMN masked_tokens INTEGER;
ALTER TABLE drift ADD COLUMN capped_tokens INTEGER;
)sql";

} // namespace swage
