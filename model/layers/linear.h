// A linear layer whose result for a row does not depend on the rows beside it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "model/checkpoint/safetensors_file.h"
#include "model/layers/packed_rows.h"
#include "model/runtime/kernels.h"
#include "model/runtime/weight_format.h"
#include "model/runtime/worker_team.h"
#include "model/runtime/zeroed_pages.h"

namespace affine {

/// y = x W^T + b, with W [out_features, in_features] packed once into panels of 16 columns.
/// Weights of all formats but float32 take inputs rounded to bfloat16; sums are float32.
/// Batch invariance: every element of y is one chain of fused multiply-adds over the inputs in a
/// fixed order, whatever the number of rows and threads (see MultiplyArgs, MultiplyCodesArgs).
class Linear {
 public:
  /// `out_features` may be the sum of several checkpoint tensors that share an input; each part
  /// begins at a multiple of 16, and columns between parts are zero.
  Linear(int64_t in_features, int64_t out_features, WeightFormat format)
      : Linear(in_features, out_features, format, out_features) {}
  /// The same, but with bfloat16 instead of codes from column `plain_from` on, a multiple of 16.
  Linear(int64_t in_features, int64_t out_features, WeightFormat format, int64_t plain_from);

  /// Packs `weight` [n, in_features] as columns [first, first + n); `first` a multiple of 16.
  void SetWeight(int64_t first, const TensorView& weight, WorkerTeam& team);
  /// `bias` [n], added to columns [first, first + n).
  void SetBias(int64_t first, const TensorView& bias);

  struct Call {
    const PackedRows& x;  // [rows, in_features], packed for the weights' format
    int64_t rows;
    float* y;                 // [rows, padded_out_features()], row r at y + r * y_stride
    int64_t y_stride;         // at least padded_out_features()
    bool accumulate = false;  // y += x W^T + b, for a residual
  };
  void Forward(const Call& call, const Kernels& kernels, WorkerTeam& team) const;

  int64_t in_features() const { return in_features_; }
  int64_t padded_out_features() const { return panels_ * kPanelWidth; }
  int64_t bytes() const { return PanelOffset(panels_); }

 private:
  struct Part;
  void MultiplyPart(const Call& call, const Kernels& kernels, const Part& part) const;
  void MultiplyPanels(const Call& call, const Kernels& kernels, const Part& part) const;
  void PrepareBias(const Call& call, const Part& part) const;
  WeightFormat FormatOf(int64_t panel) const {
    return panel < format_panels_ ? format_ : WeightFormat::kBfloat16;
  }
  int64_t PanelOffset(int64_t panel) const;  // in bytes

  int64_t in_features_;
  WeightFormat format_;
  int64_t panels_;
  int64_t format_panels_;  // those before are in format_, the others in bfloat16
  ZeroedPages packed_;     // panel after panel: see kPanelWidth and WeightFormat
  at::Tensor bias_;        // float32 [padded_out_features], or undefined
};

}  // namespace affine
