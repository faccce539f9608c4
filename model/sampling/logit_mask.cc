#include "model/sampling/logit_mask.h"

#include <algorithm>
#include <limits>

#include "model/token_mask.h"

namespace affine {

void LogitMask::Apply(std::span<const uint32_t> words, float* logits) const {
  constexpr float kRuledOut = -std::numeric_limits<float>::infinity();
  constexpr int32_t kBits = TokenMask::kWordBits;
  for (int32_t begin = 0; begin < vocab_size_; begin += kBits) {
    const uint32_t word = words[begin / kBits];
    const int32_t count = std::min(kBits, vocab_size_ - begin);
    if (word == 0) {  // masks are mostly empty or mostly full
      std::fill_n(logits + begin, count, kRuledOut);
    } else if (word != ~uint32_t{0}) {
      for (int32_t bit = 0; bit < count; ++bit) {
        if ((word >> bit & 1) == 0) logits[begin + bit] = kRuledOut;
      }
    }
  }
}

}  // namespace affine
