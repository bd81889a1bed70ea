#pragma once

namespace swage {

/// Version of run.db's tables, in its `user_version`.
inline constexpr int journal_schema = 2;

/// Creates the tables of an empty run.db. It is also the user's record of the
/// run: one row per sample, readable with any SQLite client.
extern const char* const create_journal;

/// Makes the tables of schema 1 those of schema 2.
extern const char* const upgrade_journal;

} // namespace swage
