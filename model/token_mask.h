// A set of token ids, a bit for each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace affine {

/// Bit i % 32 of word i / 32 says whether id i is in the set.
class TokenMask {
 public:
  static constexpr int32_t kWordBits = 32;

  /// The words that `vocab_size` ids take.
  static constexpr int32_t WordsFor(int32_t vocab_size) {
    return (vocab_size + kWordBits - 1) / kWordBits;
  }

  /// Without words: no set at all, which restricts nothing.
  TokenMask() = default;
  /// No id of [0, vocab_size) is in it yet.
  explicit TokenMask(int32_t vocab_size) : words_(WordsFor(vocab_size)) {}

  /// `id` must be in [0, vocab_size).
  void Add(int32_t id) { words_[id / kWordBits] |= uint32_t{1} << id % kWordBits; }
  bool Has(int32_t id) const { return (words_[id / kWordBits] >> id % kWordBits & 1) != 0; }

  bool empty() const { return words_.empty(); }
  std::span<const uint32_t> words() const { return words_; }

 private:
  std::vector<uint32_t> words_;
};

}  // namespace affine
