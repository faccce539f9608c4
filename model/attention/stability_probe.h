// Measures how stable one layer's attention is, from what core and epilogue know anyway.
#pragma once

#include <span>

#include "model/attention/epilogue.h"
#include "model/attention/paged_core_cpu.h"
#include "model/stability.h"

namespace affine {

/// Looks at the last row of each slice of a step: the token that a decode or the end of a prefill
/// is about.
class StabilityProbe {
 public:
  StabilityProbe(const AttentionSpec& spec, const AttentionShape& shape, const Epilogue& epilogue)
      : spec_(spec), shape_(shape), epilogue_(epilogue) {}

  /// Statistics that Attend is to fill for `batch`: one for each slice and head.
  static int64_t Size(const AttentionBatch& batch, const AttentionShape& shape) {
    return static_cast<int64_t>(batch.slices.size()) * shape.num_heads;
  }

  struct Call {
    const AttentionBatch& batch;
    const CoreInput& input;
    const CacheLayer& cache;
    const Epilogue::Call& epilogue;               // log_sum_exp and alpha are read
    std::span<const ScoreStatistics> statistics;  // [slices, heads], from Attend
  };
  /// Adds to stability [heads], in the order of the slices: the same sums for any number of
  /// threads.
  void Observe(const Call& call, PagedCoreCpu& core, HeadStability* stability) const;

 private:
  std::vector<float> NegativeMass(const Call& call, PagedCoreCpu& core) const;
  HeadStability OneQuery(const Call& call, int64_t slice, int64_t head) const;
  static int64_t LastRow(const AttentionSlice& slice) { return slice.first_row + slice.rows - 1; }

  const AttentionSpec& spec_;
  const AttentionShape& shape_;
  const Epilogue& epilogue_;
};

}  // namespace affine
