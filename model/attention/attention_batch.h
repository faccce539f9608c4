// The rows of a step, as the attention layer sees them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/stability.h"

namespace affine {

/// One sequence's rows: rows [first_row, first_row + rows) at positions [start, start + rows).
struct AttentionSlice {
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t start = 0;
  std::span<const int32_t> block_table;  // blocks of positions [0, start + rows)
  HeadStability* stability = nullptr;    // [layers, heads]: what the observed rows add to
  int64_t observed_rows = 0;             // the last rows of the slice; 0 without stability
  int64_t first_observed = 0;            // observed rows of the slices before
};

/// All slices of a step; rows of different slices never see each other.
struct AttentionBatch {
  std::vector<AttentionSlice> slices;
  std::vector<int64_t> positions;  // [rows]: of each row within its own sequence
  int64_t rows() const { return static_cast<int64_t>(positions.size()); }
  int64_t observed_rows() const {
    return slices.empty() ? 0 : slices.back().first_observed + slices.back().observed_rows;
  }
};

/// Moves the rows of `kept`, which are the last ones of each slice of `all`, to the front: data
/// [all.rows(), width] becomes [kept.rows(), width].
void KeepRows(const AttentionBatch& all, const AttentionBatch& kept, int64_t width, float* data);

struct AttentionShape {
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;  // head h reads key-value head h / (num_heads / num_kv_heads)
  int64_t head_dim = 0;      // a multiple of 16
};

}  // namespace affine
