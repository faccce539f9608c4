// The tokens that a draw comes after.
#pragma once

#include <cstdint>
#include <span>

namespace affine {

/// In two parts, as a step has them: what earlier steps computed, and what this one does.
struct TokensSoFar {
  std::span<const int32_t> before;
  std::span<const int32_t> recent;
  int32_t prompt_length = 0;  // at most size(); what follows is output

  int32_t size() const { return static_cast<int32_t>(before.size() + recent.size()); }
  int32_t num_outputs() const { return size() - prompt_length; }
  int32_t operator[](int32_t position) const {
    const auto first = static_cast<int32_t>(before.size());
    return position < first ? before[position] : recent[position - first];
  }
};

}  // namespace affine
