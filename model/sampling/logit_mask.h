// Rules out the ids that a mask lacks.
#pragma once

#include <cstdint>
#include <span>

namespace affine {

/// The one place where masks meet logits.
class LogitMask {
 public:
  explicit LogitMask(int32_t vocab_size) : vocab_size_(vocab_size) {}

  /// logits [vocab] = -infinity where the bit of `words` [TokenMask::WordsFor(vocab)] is 0.
  void Apply(std::span<const uint32_t> words, float* logits) const;

 private:
  int32_t vocab_size_;
};

}  // namespace affine
