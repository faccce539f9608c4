// What the core tells of observed rows beside their results.
#include <algorithm>
#include <chrono>
#include <utility>

#include "model/attention/paged_core_tile_cpu.h"

namespace affine {

// How many of the keys [begin, end) the row sees; not above 0 if none.
int64_t PagedCoreCpu::Visible(const Tile& tile, int64_t row, int64_t begin, int64_t end) const {
  return std::min(end, tile.Position(row, group_) + 1) - begin;
}

// Of an observed row, among all statistics of the step.
int64_t PagedCoreCpu::ObservedIndex(const Tile& tile, int64_t row) const {
  const AttentionSlice& slice = *tile.slice;
  const int64_t query = tile.first_query + row / group_ - (slice.rows - slice.observed_rows);
  return (slice.first_observed + query) * shape_.num_heads + tile.kv_head * group_ + row % group_;
}

void PagedCoreCpu::KeepScores(const Tile& tile, int64_t begin, int64_t end,
                              Scratch& scratch) const {
  if (tile.first_observed_row == tile.rows) return;
  const auto before = std::chrono::steady_clock::now();
  for (int64_t row = tile.first_observed_row; row < tile.rows; ++row) {
    const int64_t visible = Visible(tile, row, begin, end);
    if (visible <= 0) continue;
    scratch.observed.Keep(row, scratch.scores.data() + row * kPartKeys, visible, begin);
  }
  scratch.observing += std::chrono::steady_clock::now() - before;
}

void PagedCoreCpu::SumScores(const Tile& tile, int64_t begin, int64_t end, const Part& part,
                             Scratch& scratch) const {
  if (tile.first_observed_row == tile.rows) return;
  const auto before = std::chrono::steady_clock::now();
  for (int64_t row = tile.first_observed_row; row < tile.rows; ++row) {
    if (Visible(tile, row, begin, end) <= 0) continue;
    scratch.observed.Sum(row, {scratch.scores.data() + row * kPartKeys, part.max[row],
                               part.sum[row], scratch.max[row], scratch.sum[row]});
  }
  scratch.observing += std::chrono::steady_clock::now() - before;
}

void PagedCoreCpu::ReportScores(const Tile& tile, ScoreStatistics* statistics,
                                const Scratch& scratch) const {
  for (int64_t row = tile.first_observed_row; row < tile.rows; ++row) {
    statistics[ObservedIndex(tile, row)] =
        scratch.observed.Of(row, scratch.max[row], scratch.sum[row]);
  }
}

void PagedCoreCpu::NegativeMass(const AttentionBatch& batch, const CoreInput& input,
                                const CacheLayer& cache, const AffineWeight* weights, float* mass) {
  std::fill(mass, mass + batch.observed_rows() * shape_.num_heads, 0.0f);
  MakeTiles(batch);
  std::erase_if(tiles_, [](const Tile& tile) { return tile.first_observed_row == tile.rows; });
  team_.ParallelFor(static_cast<int64_t>(tiles_.size()), [&](int64_t item, int thread) {
    const Tile& tile = tiles_[item];
    for (int64_t row = tile.first_observed_row; row < tile.rows; ++row) {
      if (weights[ObservedIndex(tile, row)].beta < 0.0f) {
        NegativeMassOfTile(tile, input, cache, weights, mass, scratch_[thread]);
        return;
      }
    }
  });
}

void PagedCoreCpu::NegativeMassOfTile(const Tile& tile, const CoreInput& input,
                                      const CacheLayer& cache, const AffineWeight* weights,
                                      float* mass, Scratch& scratch) const {
  LoadQueries(tile, input, scratch);
  std::fill(scratch.mass.begin(), scratch.mass.end(), 0.0);
  const int64_t keys = tile.Position(tile.rows - 1, group_) + 1;
  for (int64_t begin = 0; begin < keys; begin += kPartKeys) {
    const int64_t end = std::min(begin + kPartKeys, keys);
    ScorePart(tile, cache, begin, end, scratch);
    for (int64_t row = tile.first_observed_row; row < tile.rows; ++row) {
      const AffineWeight& w = weights[ObservedIndex(tile, row)];
      const int64_t visible = Visible(tile, row, begin, end);
      if (w.beta >= 0.0f || visible <= 0) continue;
      float* scores = scratch.scores.data() + row * kPartKeys;
      kernels_.exp_sum(scores, visible, w.log_sum_exp, 1.0f);
      double sum = 0.0;
      for (int64_t j = 0; j < visible; ++j) {
        sum += std::max(0.0f, -(w.weight_p * scores[j] + w.beta));
      }
      scratch.mass[row] += sum;
    }
  }
  for (int64_t row = tile.first_observed_row; row < tile.rows; ++row) {
    mass[ObservedIndex(tile, row)] = static_cast<float>(scratch.mass[row]);
  }
}

double PagedCoreCpu::TakeObservationSeconds() {
  std::chrono::duration<double> seconds{};
  for (Scratch& scratch : scratch_) seconds += std::exchange(scratch.observing, {});
  return seconds.count() / static_cast<double>(scratch_.size());
}

}  // namespace affine
