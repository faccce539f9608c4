// When a request that comes now would have its tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/scheduler/sequence.h"
#include "server/scheduler/step_time_model.h"

namespace affine {

/// Seconds from now to the first token, and between tokens after it.
struct Forecast {
  double first_token = 0.0;
  double per_token = 0.0;
  int32_t ahead = 0;  // sequences that are served before
};

/// One sequence, as far as a forecast depends on it.
struct ForecastSequence {
  int32_t length = 0;
  int32_t computed = 0;  // its leading tokens that are in the cache, or will be for nothing
  int32_t to_come = 0;   // most tokens that it may still get
  bool decoding = false;
};

struct ForecastLimits {
  int32_t max_num_seqs = 1;
  int32_t max_tokens = 1;    // of a step
  double max_seconds = 0.0;  // of a step that decodes; 0: no bound
  int32_t granule = 1;       // tokens that such a step prefills in any case
};

/// An estimate on the careful side, from the measured times of steps:
///   place: with all places taken, as many running ones must end as are too many, those that have
///     least to go first, none of them early;
///   prefill: of all ahead and of `own`, in steps that each decode what runs now, and that get as
///     much prefill as `limits` leave them;
///   tokens: a step that decodes all running, all ahead and `own`, as far as there are places.
/// Not counted: prefixes of waiting sequences that may be found cached, room in the cache, prefill
/// that comes later. `running` are in order of rank, like `ahead`, which wait.
Forecast ForecastFor(const ForecastSequence& own, std::span<const ForecastSequence> running,
                     std::span<const ForecastSequence> ahead, const ForecastLimits& limits,
                     const StepTimeModel& times);

}  // namespace affine
