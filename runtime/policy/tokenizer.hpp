#pragma once

#include "runtime/error.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swage {

/// Byte-level BPE as in a Hugging Face `tokenizer.json` (Qwen pre-tokenizer
/// pattern, special tokens, merges).
/// Thread-safe once loaded.
class tokenizer {
public:
  static result<tokenizer> load(const std::filesystem::path& file);

  ~tokenizer();
  tokenizer(tokenizer&&) noexcept;
  tokenizer& operator=(tokenizer&&) noexcept;

  /// Special tokens in `text` are recognised, as Hugging Face does.
  std::vector<int32_t> encode(std::string_view text) const;

  /// Bytes of the tokens, special ones left out if `skip_special`.
  std::string decode(std::span<const int32_t> tokens,
                     bool skip_special = true) const;

  /// Id of a token by its text, such as "<|endoftext|>"; -1 if there is none.
  int32_t id(std::string_view token) const;
  size_t size() const;

private:
  tokenizer();
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace swage
