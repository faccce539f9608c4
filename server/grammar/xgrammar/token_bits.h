// XGrammar's masks in the words of model/token_mask.h.
#pragma once

#include <xgrammar/xgrammar.h>

#include <algorithm>
#include <cstdint>
#include <span>

namespace affine {

/// Fills `words` [TokenMask::WordsFor(vocab)] with what may come next. Throws as XGrammar does.
inline void FillTokenBits(xgrammar::GrammarMatcher& matcher, std::span<uint32_t> words) {
  std::ranges::fill(words, ~uint32_t{0});
  auto count = static_cast<int64_t>(words.size());
  DLTensor tensor = {.data = words.data(),
                     .device = {kDLCPU, 0},
                     .ndim = 1,
                     .dtype = {kDLInt, 32, 1},
                     .shape = &count,
                     .strides = nullptr,
                     .byte_offset = 0};
  matcher.FillNextTokenBitmask(&tensor);
}

}  // namespace affine
