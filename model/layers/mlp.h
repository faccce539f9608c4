// The gated feed-forward layer: W_down (silu(W_gate x) * W_up x).
#pragma once

#include <cstdint>
#include <vector>

#include "model/checkpoint/checkpoint.h"
#include "model/layers/linear.h"

namespace affine {

class Mlp {
 public:
  /// Packs the tensors `model.layers.{index}.mlp.*`.
  Mlp(const ModelConfig& config, const Checkpoint& checkpoint, int index, WeightFormat format,
      WorkerTeam& team);

  struct Workspace {
    std::vector<float> projections;  // [rows, workspace_width()]
    PackedRows inner;                // [rows, intermediate]
  };
  /// residual += mlp(x); x [rows, hidden]; residual [rows, hidden] at a stride of
  /// PaddedWidth(hidden).
  void Forward(const PackedRows& x, int64_t rows, float* residual, const Kernels& kernels,
               WorkerTeam& team, Workspace& workspace) const;

  /// One cache line more than the columns: rows at multiples of 4 KiB would share cache sets.
  int64_t workspace_width() const { return input_.padded_out_features() + kPanelWidth; }
  int64_t weight_bytes() const { return input_.bytes() + output_.bytes(); }

 private:
  int64_t intermediate_;
  int64_t up_column_;  // first column of W_up in the fused projection
  Linear input_;       // W_gate and W_up share their input
  Linear output_;      // W_down
};

}  // namespace affine
