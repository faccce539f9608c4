// One layer of a Llama or Qwen2 decoder, straight down.
#pragma once

#include <cstdint>
#include <vector>

#include "model/attention/attention_layer.h"
#include "model/layers/mlp.h"

namespace affine {

/// Working memory of a step, shared by all layers, sized once.
struct StepWorkspace {
  std::vector<float> residual;     // [rows, PaddedWidth(hidden)]: the stream that layers add to
  std::vector<float> normed_rows;  // [threads, hidden]: each thread's row at hand
  PackedRows normed;               // [rows, hidden]
  AttentionWorkspace attention;
  Mlp::Workspace mlp;
};

/// What all layers use: built once for a model.
struct DecoderParts {
  const Rotary& rotary;
  PagedCoreCpu& core;
  const Kernels& kernels;
  WorkerTeam& team;
};

class DecoderLayer {
 public:
  DecoderLayer(const ModelConfig& config, const Checkpoint& checkpoint, int index,
               WeightFormat format, WorkerTeam& team);

  /// workspace.residual [rows, hidden] in, [kept rows, hidden] out. All rows enter the cache;
  /// `kept` are the last ones of each slice, or `batch` itself.
  void Forward(const AttentionBatch& batch, const AttentionBatch& kept, CacheLayer cache,
               const DecoderParts& parts, StepWorkspace& workspace) const;

  const AttentionLayer& attention() const { return attention_; }
  const Mlp& mlp() const { return mlp_; }
  int64_t weight_bytes() const { return attention_.weight_bytes() + mlp_.weight_bytes(); }

 private:
  int64_t hidden_;
  float epsilon_;
  std::vector<float> input_norm_;           // [hidden]
  std::vector<float> post_attention_norm_;  // [hidden]
  AttentionLayer attention_;
  Mlp mlp_;
};

}  // namespace affine
