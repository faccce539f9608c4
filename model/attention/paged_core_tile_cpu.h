// What the CPU core works on: a tile of query rows, and a thread's memory for it. For the core's
// own files alone.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

#include "model/attention/observed_scores.h"
#include "model/attention/paged_core_cpu.h"
#include "model/layers/packed_rows.h"

namespace affine {

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
  std::vector<float> query;   // [head_dim], scaled
  PackedRows queries;         // [rows, head_dim], scaled
  std::vector<float> scores;  // [rows, kPartKeys]; then their exponentials
  PackedRows weights;         // [rows, kPartKeys]: the exponentials, as values are multiplied
  std::vector<float> part;    // [rows, head_dim]: the part's weighted values
  std::vector<float> total;   // [rows, head_dim]: merged so far
  std::vector<float> max;     // [rows]: largest score so far
  std::vector<float> sum;     // [rows]: sum of exp(score - max) so far
  std::vector<float> part_max, part_sum;
  ObservedScores observed;
  std::vector<double> mass;  // [rows]: of negative weights
  std::chrono::nanoseconds observing{};
  std::vector<const char*> panels;  // of a part's keys, or of its values

  Scratch(const Kernels& kernels, ElementType element, int64_t rows, int64_t head_dim)
      : query(head_dim),
        queries(kernels, FormatOf(element), rows, head_dim),
        scores(rows * kPartKeys),
        weights(kernels, FormatOf(element), rows, kPartKeys),
        part(rows * head_dim),
        total(rows * head_dim),
        max(rows),
        sum(rows),
        part_max(rows),
        part_sum(rows),
        observed(rows, kPartKeys),
        mass(rows),
        panels(kPartKeys / kPanelWidth * std::max<int64_t>(1, head_dim / kPanelWidth)) {}

  /// Nothing merged yet; `count` numbers of `total` are about to be.
  void Reset(int64_t count) {
    std::fill(max.begin(), max.end(), -std::numeric_limits<float>::infinity());
    std::fill(sum.begin(), sum.end(), 0.0f);
    std::fill(total.begin(), total.begin() + count, 0.0f);
  }
};

}  // namespace affine
