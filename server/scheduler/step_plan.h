// What one step is to compute, and what had to happen for it.
#pragma once

#include <cstdint>
#include <vector>

#include "server/scheduler/sequence.h"

namespace affine {

/// Tokens [start, start + count) of a sequence, and after them the first `num_drafts` of its
/// guesses; blocks for all of them are allocated.
struct PlannedSlice {
  Sequence* sequence = nullptr;
  int32_t start = 0;
  int32_t count = 0;
  bool decode = false;     // of the sequence's own tokens the one sampled last, and that alone
  int32_t num_drafts = 0;  // above 0 only with `decode`

  /// Of the sequence's own tokens.
  int32_t end() const { return start + count; }
  /// A token follows: these reach the end of a sequence that may still grow.
  bool sample() const {
    return end() == sequence->length() && sequence->length() < sequence->max_length;
  }
  /// One for each draft, too: it is the token that follows if the draft comes true.
  int32_t num_samples() const { return sample() ? 1 + num_drafts : 0; }
};

/// A sequence that left the waiting ones in this step.
struct Admission {
  Sequence* sequence = nullptr;
  int32_t looked_up_tokens = 0;  // all of the sequence's, or 0 if it was not looked up
  int32_t cached_tokens = 0;     // of these, found in the prefix index
  int32_t forked_tokens = 0;     // taken over from a sibling; then it was not looked up
};

/// A whole block, before anything is computed; in order.
struct PlannedCopy {
  int32_t from = 0;
  int32_t to = 0;
};

struct StepPlan {
  std::vector<PlannedSlice> slices;  // decodes, then prefill chunks
  std::vector<PlannedCopy> copies;
  std::vector<Admission> admitted;
  std::vector<Sequence*> preempted;  // they wait again and hold no blocks

  void Clear() {
    slices.clear();
    copies.clear();
    admitted.clear();
    preempted.clear();
  }
};

}  // namespace affine
