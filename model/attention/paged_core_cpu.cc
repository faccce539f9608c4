#include "model/attention/paged_core_cpu.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

namespace affine {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();
// Rows (queries times heads of a group) that share each load of a key or value tile.
constexpr int64_t kTileRows = 24;

}  // namespace

/// Some queries of one slice with all heads of one key-value head. Row i is query i / group, head
/// i % group of the group: rows are in ascending order of position.
struct PagedCoreCpu::Tile {
  const AttentionSlice* slice;
  int64_t kv_head;
  int64_t first_query;  // within the slice
  int64_t queries;
  int64_t rows;
  int64_t first_observed_row;  // statistics are wanted of rows from here; `rows` if of none
  int64_t Position(int64_t row, int64_t group) const {
    return slice->start + first_query + row / group;
  }
};

/// One thread's working memory.
struct PagedCoreCpu::Scratch {
  std::vector<float> query;   // [rows, head_dim], scaled
  std::vector<float> scores;  // [rows, kPartKeys]; after MergePart's exponentials, weights
  std::vector<float> part;    // [rows, head_dim]: the part's weighted values
  std::vector<float> total;   // [rows, head_dim]: merged so far
  std::vector<float> max;     // [rows]: largest score so far
  std::vector<float> sum;     // [rows]: sum of exp(score - max) so far
  std::vector<float> part_max, part_sum;
  ObservedScores observed;
  std::vector<double> mass;  // [rows]: of negative weights
  std::chrono::nanoseconds observing{};
  std::vector<const char*> panels;  // of a part's keys, or of 16 values

  explicit Scratch(int64_t tile_rows) : observed(tile_rows, kPartKeys), mass(tile_rows) {}
};

PagedCoreCpu::PagedCoreCpu(const AttentionShape& shape, const Kernels& kernels, WorkerTeam& team)
    : shape_(shape),
      group_(shape.num_heads / shape.num_kv_heads),
      queries_per_tile_(std::max<int64_t>(1, kTileRows / group_)),
      kernels_(kernels),
      team_(team) {
  const int64_t rows = queries_per_tile_ * group_;
  for (int i = 0; i < team.size(); ++i) scratch_.emplace_back(rows);
  for (Scratch& scratch : scratch_) {
    for (auto* v : {&scratch.query, &scratch.part, &scratch.total})
      v->resize(rows * shape.head_dim);
    scratch.scores.resize(rows * kPartKeys);
    scratch.panels.resize(std::max(kPartKeys, shape.head_dim) / kPanelWidth);
    for (auto* v : {&scratch.max, &scratch.sum, &scratch.part_max, &scratch.part_sum})
      v->resize(rows);
  }
}

PagedCoreCpu::~PagedCoreCpu() = default;

void PagedCoreCpu::WriteCache(const AttentionBatch& batch, const CoreInput& input,
                              const CacheLayer& cache, float* value_sum) const {
  const int64_t heads = shape_.num_kv_heads, dim = shape_.head_dim;
  const int64_t block_size = cache.shape().block_size;
  team_.ParallelFor(static_cast<int64_t>(batch.slices.size()) * heads, [&](int64_t item, int) {
    const AttentionSlice& slice = batch.slices[item / heads];
    const int64_t head = item % heads;
    for (int64_t i = 0; i < slice.rows; ++i) {
      const int64_t row = slice.first_row + i, position = slice.start + i;
      const int64_t block = slice.block_table[position / block_size], slot = position % block_size;
      const float* key = input.key + row * input.stride + head * dim;
      const float* value = input.value + row * input.stride + head * dim;
      cache.Write(block, head, slot, key, value);
      if (value_sum == nullptr) continue;
      const int64_t before =
          position < block_size ? -1 : slice.block_table[position / block_size - 1];
      cache.SumValues(before, block, head, slot);
      const float* sum = cache.value_sum(block, head);
      std::copy(sum, sum + dim, value_sum + (row * heads + head) * dim);
    }
  });
}

void PagedCoreCpu::MakeTiles(const AttentionBatch& batch) {
  tiles_.clear();
  for (const AttentionSlice& slice : batch.slices) {
    // Long tiles (late queries) first, so that threads end together.
    const int64_t tiles = (slice.rows + queries_per_tile_ - 1) / queries_per_tile_;
    for (int64_t tile = tiles - 1; tile >= 0; --tile) {
      const int64_t first = tile * queries_per_tile_;
      const int64_t queries = std::min(queries_per_tile_, slice.rows - first);
      const int64_t unobserved = slice.rows - slice.observed_rows - first;
      const int64_t first_observed = std::clamp<int64_t>(unobserved, 0, queries) * group_;
      for (int64_t head = 0; head < shape_.num_kv_heads; ++head) {
        tiles_.push_back({&slice, head, first, queries, queries * group_, first_observed});
      }
    }
  }
}

void PagedCoreCpu::Attend(const AttentionBatch& batch, const CoreInput& input,
                          const CacheLayer& cache, const CoreOutput& out) {
  MakeTiles(batch);
  team_.ParallelFor(static_cast<int64_t>(tiles_.size()), [&](int64_t item, int thread) {
    AttendTile(tiles_[item], input, cache, out, scratch_[thread]);
    ReportScores(tiles_[item], out.statistics, scratch_[thread]);
  });
}

void PagedCoreCpu::AttendTile(const Tile& tile, const CoreInput& input, const CacheLayer& cache,
                              const CoreOutput& out, Scratch& scratch) const {
  LoadQueries(tile, input, scratch);
  const int64_t keys = tile.Position(tile.rows - 1, group_) + 1;
  for (int64_t begin = 0; begin < keys; begin += kPartKeys) {
    const int64_t end = std::min(begin + kPartKeys, keys);
    ScorePart(tile, cache, begin, end, scratch);
    KeepScores(tile, begin, end, scratch);
    const int64_t width = (end - begin + kPanelWidth - 1) / kPanelWidth * kPanelWidth;
    for (int64_t row = 0; row < tile.rows; ++row) {
      float* scores = scratch.scores.data() + row * kPartKeys;
      scratch.part_max[row] = kernels_.max(scores, width);
      // A row that sees no key of this part has weights 0 rather than exp(-inf + inf).
      const float shift = scratch.part_max[row] == kMasked ? 0.0f : scratch.part_max[row];
      scratch.part_sum[row] = kernels_.exp_sum(scores, width, shift, 1.0f);
    }
    SumScores(tile, begin, end, scratch);
    WeighValues(tile, cache, begin, end, scratch);
    MergePart(tile, begin, end, scratch);
  }
  Finish(tile, out, scratch);
}

void PagedCoreCpu::LoadQueries(const Tile& tile, const CoreInput& input, Scratch& scratch) const {
  const int64_t dim = shape_.head_dim;
  const float scale = 1.0f / std::sqrt(static_cast<float>(dim));
  for (int64_t row = 0; row < tile.rows; ++row) {
    const int64_t query = tile.slice->first_row + tile.first_query + row / group_;
    const float* from =
        input.query + query * input.stride + (tile.kv_head * group_ + row % group_) * dim;
    float* to = scratch.query.data() + row * dim;
    for (int64_t i = 0; i < dim; ++i) to[i] = from[i] * scale;
    scratch.max[row] = kMasked;
    scratch.sum[row] = 0.0f;
  }
  std::fill(scratch.total.begin(), scratch.total.begin() + tile.rows * dim, 0.0f);
}

// Scores of keys [begin, end), masked past each row's own position and up to a multiple of 16.
void PagedCoreCpu::ScorePart(const Tile& tile, const CacheLayer& cache, int64_t begin, int64_t end,
                             Scratch& scratch) const {
  const int64_t block_size = cache.shape().block_size, dim = shape_.head_dim;
  const char** panels = scratch.panels.data();
  MultiplyArgs args = {};
  for (int64_t key = begin; key < end; key += kPanelWidth) {
    const int64_t block = tile.slice->block_table[key / block_size];
    panels[args.num_panels++] = cache.keys(block, tile.kv_head, key % block_size / kPanelWidth);
  }
  args.a = scratch.query.data();
  args.a_stride = dim * static_cast<int64_t>(sizeof(float));
  args.rows = tile.rows;
  args.panels = panels;
  args.k = dim;
  args.c = scratch.scores.data();
  args.c_stride = kPartKeys;
  kernels_.multiply(cache.shape().element, args);
  const int64_t width = args.num_panels * kPanelWidth;
  for (int64_t row = 0; row < tile.rows; ++row) {
    const int64_t visible = std::clamp<int64_t>(tile.Position(row, group_) + 1 - begin, 0, width);
    float* scores = scratch.scores.data() + row * kPartKeys;
    std::fill(scores + visible, scores + width, kMasked);
  }
}

// part [rows, head_dim] = weights [rows, keys] times values [keys, head_dim].
void PagedCoreCpu::WeighValues(const Tile& tile, const CacheLayer& cache, int64_t begin,
                               int64_t end, Scratch& scratch) const {
  const KvCacheShape& shape = cache.shape();
  const char** panels = scratch.panels.data();
  MultiplyArgs args = {};
  args.a_stride = kPartKeys * static_cast<int64_t>(sizeof(float));
  args.rows = tile.rows;
  args.panels = panels;
  args.num_panels = shape_.head_dim / kPanelWidth;
  args.k = kPanelWidth;
  args.c = scratch.part.data();
  args.c_stride = shape_.head_dim;
  for (int64_t key = begin; key < end; key += kPanelWidth) {
    const int64_t block = tile.slice->block_table[key / shape.block_size];
    const char* values = cache.values(block, tile.kv_head, key % shape.block_size / kPanelWidth);
    for (int64_t p = 0; p < args.num_panels; ++p) {
      panels[p] = values + p * kPanelWidth * kPanelWidth * ElementBytes(shape.element);
    }
    args.a = scratch.scores.data() + (key - begin);
    args.accumulate = key != begin;
    kernels_.multiply(shape.element, args);
  }
}

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

void PagedCoreCpu::SumScores(const Tile& tile, int64_t begin, int64_t end, Scratch& scratch) const {
  if (tile.first_observed_row == tile.rows) return;
  const auto before = std::chrono::steady_clock::now();
  for (int64_t row = tile.first_observed_row; row < tile.rows; ++row) {
    if (Visible(tile, row, begin, end) <= 0) continue;
    scratch.observed.Sum(row, {scratch.scores.data() + row * kPartKeys, scratch.part_max[row],
                               scratch.part_sum[row], scratch.max[row], scratch.sum[row]});
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

// Joins a part's (max, sum, weighted values) to what earlier parts gave.
void PagedCoreCpu::MergePart(const Tile& tile, int64_t begin, int64_t end, Scratch& scratch) const {
  const int64_t dim = shape_.head_dim;
  for (int64_t row = 0; row < tile.rows; ++row) {
    if (tile.Position(row, group_) < begin) continue;  // sees no key of this part
    const float max = std::max(scratch.max[row], scratch.part_max[row]);
    const float keep = std::exp(scratch.max[row] - max);
    const float take = std::exp(scratch.part_max[row] - max);
    float* part = scratch.part.data() + row * dim;
    float* total = scratch.total.data() + row * dim;
    kernels_.scale(take, dim, part);
    kernels_.scale_add(keep, part, dim, total);
    scratch.sum[row] = keep * scratch.sum[row] + take * scratch.part_sum[row];
    scratch.max[row] = max;
  }
}

void PagedCoreCpu::Finish(const Tile& tile, const CoreOutput& out, const Scratch& scratch) const {
  const int64_t dim = shape_.head_dim;
  for (int64_t row = 0; row < tile.rows; ++row) {
    const int64_t query = tile.slice->first_row + tile.first_query + row / group_;
    const int64_t index = query * shape_.num_heads + tile.kv_head * group_ + row % group_;
    const float scale = 1.0f / scratch.sum[row];
    const float* total = scratch.total.data() + row * dim;
    float* output = out.output + index * dim;
    for (int64_t i = 0; i < dim; ++i) output[i] = total[i] * scale;
    out.log_sum_exp[index] = scratch.max[row] + std::log(scratch.sum[row]);
  }
}

}  // namespace affine
