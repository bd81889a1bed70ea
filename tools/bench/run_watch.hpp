#pragma once

#include "runtime/buffer/sqlite.hpp"
#include "runtime/config/config.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace swage::bench {

/// How far a run is, as its journal says while it goes on.
class run_watch {
public:
  run_watch(std::filesystem::path run, const config& settings);

  /// Index of the present stage plus the share of it that is recorded; the
  /// number of stages once all are over; 0 before there is a journal.
  double position();

  /// How often a process has opened the journal.
  uint64_t openings();

  /// Whether there is a journal: a run that dies early leaves none.
  bool has_journal();

  /// Name of the stage at a position.
  std::string stage_at(double position) const;

private:
  struct stage {
    std::string name;
    bool trains = false;
    uint64_t total = 0; ///< Batches or samples.
  };

  /// The first column of the first row; `none` if there is no answer.
  uint64_t number(const char* sql, std::initializer_list<sqlite::value> with,
                  uint64_t none);

  std::filesystem::path file_;
  std::vector<stage> stages_;
  std::optional<sqlite::database> db_;
};

} // namespace swage::bench
