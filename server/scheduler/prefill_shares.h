// Who gets how much of a step's prefill.
#pragma once

#include <cstdint>
#include <span>

#include "server/scheduler/sequence.h"
#include "server/scheduler/step_budget.h"

namespace affine {

/// What one sequence has still to prefill, and what it gets.
struct PrefillWish {
  Sequence* sequence = nullptr;
  int32_t start = 0;  // tokens that need no computing
  int32_t wanted = 0;
  int32_t share = 0;
};

/// Divides `budget` among `wishes`, which are in order of rank with shares of 0. The first gets
/// `granule` tokens whatever time is left, so that it always advances. Then higher priorities go
/// first, and of equal ones
///   half goes out in order of rank,
///   the rest to prompts of which less is left first, so that short ones do not wait for long ones;
///     lengths within a factor of four count as equal, and rank decides.
/// Shares that do not reach a prompt's end are multiples of `granule`, but for want of tokens.
void SharePrefill(std::span<PrefillWish> wishes, StepBudget budget, int32_t granule);

}  // namespace affine
