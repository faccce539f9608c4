// A linear layer whose result for a row does not depend on the rows beside it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "model/checkpoint/safetensors_file.h"
#include "model/layers/packed_rows.h"
#include "model/runtime/kernels.h"
#include "model/runtime/worker_team.h"
#include "model/runtime/zeroed_pages.h"

namespace affine {

/// y = x W^T + b, with W [out_features, in_features] packed once into panels of 16 columns.
/// Weights of bfloat16 take inputs rounded to bfloat16; sums are float32.
/// Batch invariance: every element of y is one chain of fused multiply-adds over the inputs in a
/// fixed order, whatever the number of rows and threads (see MultiplyArgs).
class Linear {
 public:
  /// `out_features` may be the sum of several checkpoint tensors that share an input; each part
  /// begins at a multiple of 16, and columns between parts are zero.
  Linear(int64_t in_features, int64_t out_features, ElementType element);

  /// Packs `weight` [n, in_features] as columns [first, first + n); `first` a multiple of 16.
  void SetWeight(int64_t first, const TensorView& weight, WorkerTeam& team);
  /// `bias` [n], added to columns [first, first + n).
  void SetBias(int64_t first, const TensorView& bias);

  struct Call {
    const PackedRows& x;  // [rows, in_features], packed for the weights' type
    int64_t rows;
    float* y;                 // [rows, padded_out_features()], row r at y + r * y_stride
    int64_t y_stride;         // at least padded_out_features()
    bool accumulate = false;  // y += x W^T + b, for a residual
  };
  void Forward(const Call& call, const Kernels& kernels, WorkerTeam& team) const;

  int64_t in_features() const { return in_features_; }
  int64_t padded_out_features() const { return panels_ * kPanelWidth; }
  int64_t bytes() const { return panels_ * panel_bytes_; }

 private:
  struct Part;
  void MultiplyPart(const Call& call, const Kernels& kernels, const Part& part) const;
  void PrepareBias(const Call& call, const Part& part) const;

  int64_t in_features_;
  ElementType element_;
  int64_t panels_;
  int64_t depth_;  // in_features, with bfloat16 made even by an input of zeros
  int64_t panel_bytes_;
  ZeroedPages packed_;  // [panels, panel_bytes]: see kPanelWidth
  at::Tensor bias_;     // float32 [padded_out_features], or undefined
};

}  // namespace affine
