// Runs the paged core over one sequence, cut and paged as a test asks.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "model/attention/paged_core_cpu.h"
#include "tests/model/attention/direct_attention.h"

namespace affine {

struct CoreRun {
  ElementType element = ElementType::kFloat32;
  int64_t block_size = 16;
  int64_t chunk = 1 << 20;
  int threads = 2;
  int64_t observed_rows = 1;  // the last of each chunk, with `observe`

  /// One chunk as the core left it, with the statistics of its observed rows.
  struct Chunk {
    const AttentionBatch& batch;
    const CoreInput& input;
    const CacheLayer& cache;
    const CoreOutput& out;
    std::span<const ScoreStatistics> statistics;
    PagedCoreCpu& core;
    WorkerTeam& team;
  };
  std::function<void(const Chunk&)> observe{};
  HeadStability* stability = nullptr;  // [heads]: what `observe` may have a probe add to

  struct Result {
    std::vector<float> output, log_sum_exp, value_sum;
    bool operator==(const Result&) const = default;
  };

  /// Blocks are handed out in descending order, so that neighbours in the sequence are not
  /// neighbours in memory.
  Result Run(const AttentionShape& shape, const DirectInput& in) const {
    const int64_t n = in.tokens, blocks = (n + block_size - 1) / block_size;
    const KvCache cache({.num_layers = 1,
                         .num_kv_heads = shape.num_kv_heads,
                         .head_dim = shape.head_dim,
                         .block_size = block_size,
                         .num_blocks = blocks,
                         .element = element,
                         .value_sums = true});
    std::vector<int32_t> table(blocks);
    for (int64_t i = 0; i < blocks; ++i) table[i] = static_cast<int32_t>(blocks - 1 - i);
    WorkerTeam team(threads);
    PagedCoreCpu core(shape, element, KernelsFor(DetectCpuIsa()), team);
    const int64_t q = shape.num_heads * shape.head_dim, kv = shape.num_kv_heads * shape.head_dim;
    Result result{std::vector<float>(n * q), std::vector<float>(n * shape.num_heads),
                  std::vector<float>(n * kv)};
    for (int64_t begin = 0; begin < n; begin += chunk) {
      const int64_t rows = std::min(chunk, n - begin), stride = q + 2 * kv;
      std::vector<float> fused(rows * stride);
      AttentionBatch batch;
      const int64_t observed = observe ? std::min(observed_rows, rows) : 0;
      batch.slices.push_back({0, rows, begin, table, stability, observed});
      for (int64_t r = 0; r < rows; ++r) {
        batch.positions.push_back(begin + r);
        float* row = fused.data() + r * stride;
        std::copy_n(in.query.data() + (begin + r) * q, q, row);
        std::copy_n(in.key.data() + (begin + r) * kv, kv, row + q);
        std::copy_n(in.value.data() + (begin + r) * kv, kv, row + q + kv);
      }
      const CoreInput input = {fused.data(), fused.data() + q, fused.data() + q + kv, stride};
      std::vector<ScoreStatistics> statistics(observed * shape.num_heads);
      const CoreOutput out = {result.output.data() + begin * q,
                              result.log_sum_exp.data() + begin * shape.num_heads,
                              result.value_sum.data() + begin * kv, statistics.data()};
      core.WriteCache(batch, input, cache.layer(0), out.value_sum);
      core.Attend(batch, input, cache.layer(0), out);
      if (observe) observe({batch, input, cache.layer(0), out, statistics, core, team});
    }
    return result;
  }
};

}  // namespace affine
