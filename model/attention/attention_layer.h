// One attention layer: projections, rotary, paged core, epilogue, output projection.
#pragma once

#include <cstdint>
#include <vector>

#include "model/attention/attention_batch.h"
#include "model/attention/epilogue.h"
#include "model/attention/paged_core_cpu.h"
#include "model/attention/stability_probe.h"
#include "model/cache/kv_cache.h"
#include "model/checkpoint/checkpoint.h"
#include "model/layers/linear.h"
#include "model/layers/rotary.h"

namespace affine {

/// Buffers that all layers share, for at most `rows` rows a step.
struct AttentionWorkspace {
  std::vector<float> projections;             // [rows, AttentionLayer::projection_width()]
  std::vector<float> output;                  // [rows, heads * head_dim]
  PackedRows packed_output;                   // the same, as W_o reads it
  std::vector<float> log_sum_exp;             // [rows, heads]
  std::vector<float> value_sum;               // [rows, kv_heads * head_dim], with affine
  std::vector<ScoreStatistics> statistics{};  // [observed rows, heads]
  double observation_seconds = 0.0;           // added to by each layer
};

class AttentionLayer {
 public:
  /// Packs the tensors `model.layers.{index}.self_attn.*`.
  AttentionLayer(const ModelConfig& config, const Checkpoint& checkpoint, int index,
                 WeightFormat format, WorkerTeam& team);

  /// Writes keys and values of all rows to the cache; then, for the rows of `kept` alone,
  /// residual += W_o attention(x). x [rows, hidden] is the layer's input after the input norm,
  /// residual [kept rows, hidden] at a stride of PaddedWidth(hidden).
  struct Call {
    const AttentionBatch& batch;
    const AttentionBatch& kept;  // the last rows of each slice of `batch`, or `batch` itself
    const PackedRows& x;
    float* residual;
    CacheLayer cache;
  };
  void Forward(const Call& call, const Rotary& rotary, PagedCoreCpu& core, const Kernels& kernels,
               WorkerTeam& team, AttentionWorkspace& workspace) const;

  int64_t projection_width() const { return input_.padded_out_features(); }
  int64_t weight_bytes() const { return input_.bytes() + output_.bytes(); }

 private:
  // First columns of the parts of the fused input projection, multiples of 16.
  struct Columns {
    int64_t query, key, value, alpha, gate, end;
    // What has one column for each head stays bfloat16 where weights are quantised: it weighs a
    // whole head, and is a hundredth of the projection.
    int64_t by_head;
    explicit Columns(const ModelConfig& config);
  };

  void Observe(const StabilityProbe::Call& call, PagedCoreCpu& core, WorkerTeam& team,
               AttentionWorkspace& workspace) const;

  int64_t index_;
  AttentionSpec spec_;
  AttentionShape shape_;
  int64_t hidden_stride_;
  Columns columns_;
  Linear input_;   // q, k, v, W_a and W_g share their input
  Linear output_;  // W_o
  Epilogue epilogue_;
};

}  // namespace affine
