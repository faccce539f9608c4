// Measures how stable one layer's attention is, from what core and epilogue know anyway.
#pragma once

#include <span>
#include <vector>

#include "model/attention/epilogue.h"
#include "model/attention/paged_core_cpu.h"
#include "model/stability.h"

namespace affine {

/// Looks at the observed rows of a step's slices: the token that a decode is about, or all of a
/// prompt. One for each layer; reused from step to step.
class StabilityProbe {
 public:
  /// `epilogue` outlives this.
  StabilityProbe(const AttentionSpec& spec, const AttentionShape& shape, const Epilogue& epilogue)
      : spec_(spec), shape_(shape), epilogue_(epilogue) {}

  struct Call {
    const AttentionBatch& batch;
    const CoreInput& input;
    const CacheLayer& cache;
    const Epilogue::Call& epilogue;               // log_sum_exp and alpha are read
    std::span<const ScoreStatistics> statistics;  // [observed rows, heads], from Attend
    int64_t layer;                                // adds to each slice's stability [layer, heads]
  };
  /// Adds to each slice's stability in the order of its rows: the same sums for any number of
  /// threads.
  void Observe(const Call& call, PagedCoreCpu& core, WorkerTeam& team) const;

 private:
  std::vector<float> NegativeMass(const Call& call, PagedCoreCpu& core) const;
  HeadStability OneQuery(const Call& call, int64_t row, int64_t head, size_t observed) const;

  const AttentionSpec& spec_;
  const AttentionShape& shape_;
  const Epilogue& epilogue_;
};

}  // namespace affine
