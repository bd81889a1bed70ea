#pragma once

#include "runtime/error.hpp"
#include "runtime/policy/byte_pairs.hpp"
#include "runtime/policy/split_pattern.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace swage {

/// A token that is recognised in text as a whole.
struct added_token {
  std::string text;
  int32_t id = 0;
  bool special = false;
};

/// What a `tokenizer.json` says, checked and made ready for use.
struct tokenizer_file {
  std::unordered_map<std::string, int32_t> ids; ///< By spelling in the file.
  std::vector<std::string> bytes; ///< Of each token; empty where no token is.
  std::vector<bool> special;      ///< By id.
  std::vector<added_token> added; ///< Longest first.
  std::array<int32_t, 256> byte_ids = {}; ///< Token of each single byte.
  byte_pairs merges;
  std::optional<split_pattern> pattern; ///< None: the text is one word.
  bool compose = false;                 ///< Normalise to NFC.
  bool ignore_merges = false; ///< A word that is a token is not merged anew.
  std::unordered_map<std::string, int32_t> words; ///< For `ignore_merges`.

  /// Reads a byte-level BPE tokenizer. Fails with `ec::corrupt` for a broken
  /// file and `ec::unsupported`, naming the feature, for what is not built.
  static result<tokenizer_file> parse(const std::string& text);
};

} // namespace swage
