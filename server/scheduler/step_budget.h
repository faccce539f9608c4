// How many tokens a step may still take.
#pragma once

#include <algorithm>
#include <cstdint>

namespace affine {

/// Decodes come first: each running one has its token set aside before prefill gets any.
class StepBudget {
 public:
  /// `prefill_cap` bounds prefill in steps that hold decodes too; 0: no bound.
  StepBudget(int32_t max_tokens, int32_t num_decodes, int32_t prefill_cap)
      : for_prefill_(max_tokens - num_decodes) {
    if (prefill_cap > 0 && num_decodes > 0) for_prefill_ = std::min(for_prefill_, prefill_cap);
  }
  int32_t for_prefill() const { return for_prefill_; }
  void TakePrefill(int32_t tokens) { for_prefill_ -= tokens; }

 private:
  int32_t for_prefill_;
};

}  // namespace affine
