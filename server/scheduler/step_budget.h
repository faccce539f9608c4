// How many prompt tokens a step may still take.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "server/scheduler/step_time_model.h"

namespace affine {

/// Of one step; the last two hold in steps that decode too.
struct StepLimits {
  int32_t max_tokens = 0;
  int32_t prefill_cap = 0;   // prompt tokens; 0: no bound
  double max_seconds = 0.0;  // expected time of the whole step; 0: no bound
};

/// Decodes come first: each running one has its token set aside before prefill gets any. Prefill
/// has a number of tokens and, beside decodes, an expected time.
class StepBudget {
 public:
  /// `times` outlives the budget.
  StepBudget(const StepLimits& limits, const StepWork& decodes, const StepTimeModel& times)
      : times_(&times),
        for_prefill_(limits.max_tokens - static_cast<int32_t>(decodes.decode_tokens)) {
    if (decodes.decode_tokens == 0) return;
    if (limits.prefill_cap > 0) for_prefill_ = std::min(for_prefill_, limits.prefill_cap);
    if (limits.max_seconds > 0.0) seconds_ = limits.max_seconds - times.Seconds(decodes);
  }

  int32_t for_prefill() const { return for_prefill_; }
  /// How many of the next `wanted` tokens of a prompt fit, of which `start` are computed: all, or
  /// else a multiple of `granule`.
  int32_t Fit(int32_t start, int32_t wanted, int32_t granule) const {
    const int32_t most = std::min(for_prefill_, times_->PrefillWithin(seconds_, start));
    return wanted <= most ? wanted : most - most % granule;
  }
  /// Those tokens are taken, whether they fit or not.
  void TakePrefill(int32_t start, int32_t count) {
    for_prefill_ -= count;
    seconds_ -= times_->PrefillSeconds(start, count);
  }
  StepBudget Half() const {
    StepBudget half = *this;
    half.for_prefill_ /= 2;
    half.seconds_ /= 2.0;
    return half;
  }

 private:
  const StepTimeModel* times_;
  int32_t for_prefill_;
  double seconds_ = std::numeric_limits<double>::infinity();  // left for prefill
};

}  // namespace affine
