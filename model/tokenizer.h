// Text to token ids and back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace affine {

/// Immutable once loaded; all methods are safe to call from several threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  /// Ids of `text`. Invalid UTF-8 is read as if each maximal invalid part were U+FFFD.
  /// `add_special_tokens` applies the checkpoint's post-processor (a leading BOS for Llama-3).
  virtual std::vector<int32_t> Encode(std::string_view text, bool add_special_tokens) const = 0;
  /// The bytes that `id` stands for, possibly part of a character; empty for ids without a token.
  virtual std::string_view TokenBytes(int32_t id) const = 0;
  /// Added tokens marked special: left out of text when special tokens are skipped.
  virtual bool IsSpecial(int32_t id) const = 0;
  /// One more than the largest id that has a token.
  virtual int32_t vocab_size() const = 0;
  /// Concatenated TokenBytes, each maximal invalid part replaced by U+FFFD.
  virtual std::string Decode(std::span<const int32_t> ids, bool skip_special_tokens) const = 0;
};

/// Reads `folder`/tokenizer.json. Throws ModelError, naming any component that is not supported.
std::unique_ptr<Tokenizer> LoadTokenizer(const std::string& folder);

}  // namespace affine
