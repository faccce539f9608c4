#include "model/attention/paged_core_cpu.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/attention/paged_core_tile_cpu.h"

namespace affine {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();
// Rows (queries times heads of a group) that share each load of a key or value tile.
constexpr int64_t kTileRows = 24;
// So many pieces of work for each thread end nearly together.
constexpr int64_t kSpansPerThread = 4;

}  // namespace

PagedCoreCpu::PagedCoreCpu(const AttentionShape& shape, ElementType element, const Kernels& kernels,
                           WorkerTeam& team)
    : shape_(shape),
      group_(shape.num_heads / shape.num_kv_heads),
      queries_per_tile_(std::max<int64_t>(1, kTileRows / group_)),
      kernels_(kernels),
      team_(team) {
  const int64_t rows = queries_per_tile_ * group_;
  for (int i = 0; i < team.size(); ++i)
    scratch_.emplace_back(kernels, element, rows, shape.head_dim);
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

// Cuts tiles of many parts, when there are few tiles, so that one long sequence keeps all threads
// busy. Which tiles are cut changes no bit: parts are merged in the same order either way.
void PagedCoreCpu::MakeSpans() {
  spans_.clear();
  cut_tiles_.clear();
  const auto parts_of = [&](const Tile& tile) {
    return (tile.Position(tile.rows - 1, group_) + kPartKeys) / kPartKeys;
  };
  int64_t all_parts = 0, kept = 0;
  for (const Tile& tile : tiles_) all_parts += parts_of(tile);
  const int64_t most = std::max<int64_t>(1, all_parts / (kSpansPerThread * team_.size()));
  for (Tile& tile : tiles_) {
    const auto index = static_cast<int64_t>(&tile - tiles_.data());
    const int64_t parts = parts_of(tile);
    const bool observed = tile.first_observed_row < tile.rows;  // statistics go from part to part
    if (parts <= most || observed) {
      spans_.push_back({index, 0, parts, kWhole});
      continue;
    }
    cut_tiles_.push_back({index, 0, parts, kept});
    const int64_t part_size = tile.rows * (shape_.head_dim + 2);
    for (int64_t first = 0; first < parts; first += most) {
      const int64_t count = std::min(most, parts - first);
      spans_.push_back({index, first, count, kept});
      kept += count * part_size;
    }
  }
  if (kept > static_cast<int64_t>(kept_.size())) kept_.resize(kept);
}

void PagedCoreCpu::Attend(const AttentionBatch& batch, const CoreInput& input,
                          const CacheLayer& cache, const CoreOutput& out) {
  MakeTiles(batch);
  MakeSpans();
  team_.ParallelFor(static_cast<int64_t>(spans_.size()), [&](int64_t item, int thread) {
    const Span& span = spans_[item];
    const Tile& tile = tiles_[span.tile];
    Scratch& scratch = scratch_[thread];
    LoadQueries(tile, input, scratch);
    if (span.kept != kWhole) return KeepParts(tile, span, cache, scratch);
    AttendTile(tile, cache, scratch);
    Finish(tile, out, scratch);
    ReportScores(tile, out.statistics, scratch);
  });
  team_.ParallelFor(static_cast<int64_t>(cut_tiles_.size()), [&](int64_t item, int thread) {
    const Span& cut = cut_tiles_[item];
    MergeKept(tiles_[cut.tile], cut, scratch_[thread]);
    Finish(tiles_[cut.tile], out, scratch_[thread]);
  });
}

void PagedCoreCpu::AttendTile(const Tile& tile, const CacheLayer& cache, Scratch& scratch) const {
  scratch.Reset(tile.rows * shape_.head_dim);
  const int64_t keys = tile.Position(tile.rows - 1, group_) + 1;
  const Part part = {scratch.part.data(), scratch.part_max.data(), scratch.part_sum.data()};
  for (int64_t begin = 0; begin < keys; begin += kPartKeys) {
    const int64_t end = std::min(begin + kPartKeys, keys);
    ComputePart(tile, cache, begin, end, part, scratch);
    MergePart(tile, begin, part, scratch);
  }
}

void PagedCoreCpu::KeepParts(const Tile& tile, const Span& span, const CacheLayer& cache,
                             Scratch& scratch) {
  const int64_t keys = tile.Position(tile.rows - 1, group_) + 1;
  for (int64_t i = 0; i < span.parts; ++i) {
    const int64_t begin = (span.first_part + i) * kPartKeys;
    ComputePart(tile, cache, begin, std::min(begin + kPartKeys, keys),
                KeptPart(span.kept, i, tile.rows), scratch);
  }
}

void PagedCoreCpu::MergeKept(const Tile& tile, const Span& cut, Scratch& scratch) {
  scratch.Reset(tile.rows * shape_.head_dim);
  for (int64_t i = 0; i < cut.parts; ++i)
    MergePart(tile, i * kPartKeys, KeptPart(cut.kept, i, tile.rows), scratch);
}

PagedCoreCpu::Part PagedCoreCpu::KeptPart(int64_t kept, int64_t index, int64_t rows) {
  float* values = kept_.data() + kept + index * rows * (shape_.head_dim + 2);
  float* max = values + rows * shape_.head_dim;
  return {values, max, max + rows};
}

void PagedCoreCpu::ComputePart(const Tile& tile, const CacheLayer& cache, int64_t begin,
                               int64_t end, const Part& part, Scratch& scratch) const {
  ScorePart(tile, cache, begin, end, scratch);
  KeepScores(tile, begin, end, scratch);
  const int64_t width = (end - begin + kPanelWidth - 1) / kPanelWidth * kPanelWidth;
  for (int64_t row = 0; row < tile.rows; ++row) {
    float* scores = scratch.scores.data() + row * kPartKeys;
    part.max[row] = kernels_.max(scores, width);
    // A row that sees no key of this part has weights 0 rather than exp(-inf + inf).
    const float shift = part.max[row] == kMasked ? 0.0f : part.max[row];
    part.sum[row] = kernels_.exp_sum(scores, width, shift, 1.0f);
    scratch.weights.Set(row, scores, width);
  }
  SumScores(tile, begin, end, part, scratch);
  WeighValues(tile, cache, begin, end, part.values, scratch);
}

void PagedCoreCpu::LoadQueries(const Tile& tile, const CoreInput& input, Scratch& scratch) const {
  const int64_t dim = shape_.head_dim;
  const float scale = 1.0f / std::sqrt(static_cast<float>(dim));
  for (int64_t row = 0; row < tile.rows; ++row) {
    const int64_t query = tile.slice->first_row + tile.first_query + row / group_;
    const float* from =
        input.query + query * input.stride + (tile.kv_head * group_ + row % group_) * dim;
    float* scaled = scratch.query.data();
    for (int64_t i = 0; i < dim; ++i) scaled[i] = from[i] * scale;
    scratch.queries.Set(row, scaled, dim);
  }
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
  args.a = scratch.queries.row(0);
  args.a_stride = scratch.queries.stride();
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
                               int64_t end, float* part, Scratch& scratch) const {
  const KvCacheShape& shape = cache.shape();
  const char** panels = scratch.panels.data();
  MultiplyArgs args = {};
  args.a = scratch.weights.row(0);
  args.a_stride = scratch.weights.stride();
  args.rows = tile.rows;
  args.panels = panels;
  args.num_panels = shape_.head_dim / kPanelWidth;
  args.k = kPanelWidth;
  args.c = part;
  args.c_stride = shape_.head_dim;
  args.cuts = (end - begin + kPanelWidth - 1) / kPanelWidth;
  args.cut_stride = args.num_panels;
  for (int64_t key = begin; key < end; key += kPanelWidth) {
    const int64_t block = tile.slice->block_table[key / shape.block_size];
    const char* values = cache.values(block, tile.kv_head, key % shape.block_size / kPanelWidth);
    for (int64_t p = 0; p < args.num_panels; ++p) {
      *panels++ = values + p * kPanelWidth * kPanelWidth * ElementBytes(shape.element);
    }
  }
  kernels_.multiply(shape.element, args);
}

// Joins a part's (max, sum, weighted values) to what earlier parts gave.
void PagedCoreCpu::MergePart(const Tile& tile, int64_t begin, const Part& part,
                             Scratch& scratch) const {
  const int64_t dim = shape_.head_dim;
  for (int64_t row = 0; row < tile.rows; ++row) {
    if (tile.Position(row, group_) < begin) continue;  // sees no key of this part
    const float max = std::max(scratch.max[row], part.max[row]);
    const float keep = std::exp(scratch.max[row] - max);
    const float take = std::exp(part.max[row] - max);
    kernels_.scale(take, dim, part.values + row * dim);
    kernels_.scale_add(keep, part.values + row * dim, dim, scratch.total.data() + row * dim);
    scratch.sum[row] = keep * scratch.sum[row] + take * part.sum[row];
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
