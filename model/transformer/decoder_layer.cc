#include "model/transformer/decoder_layer.h"

#include <string>

#include "model/layers/tensor_values.h"

namespace affine {
namespace {

std::vector<float> ReadNorm(const Checkpoint& checkpoint, int index, const std::string& name) {
  return Floats(
      checkpoint.tensor("model.layers." + std::to_string(index) + "." + name + ".weight"));
}

}  // namespace

DecoderLayer::DecoderLayer(const ModelConfig& config, const Checkpoint& checkpoint, int index,
                           WeightFormat format, WorkerTeam& team)
    : hidden_(config.hidden_size),
      epsilon_(static_cast<float>(config.rms_norm_eps)),
      input_norm_(ReadNorm(checkpoint, index, "input_layernorm")),
      post_attention_norm_(ReadNorm(checkpoint, index, "post_attention_layernorm")),
      attention_(config, checkpoint, index, format, team),
      mlp_(config, checkpoint, index, format, team) {}

void DecoderLayer::Forward(const AttentionBatch& batch, const AttentionBatch& kept,
                           CacheLayer cache, const DecoderParts& parts,
                           StepWorkspace& workspace) const {
  float* residual = workspace.residual.data();
  const auto norm = [&](const std::vector<float>& weight, int64_t rows) {
    parts.team.ParallelFor(rows, [&](int64_t row, int thread) {
      float* normed = workspace.normed_rows.data() + thread * hidden_;
      parts.kernels.rms_norm(residual + row * PaddedWidth(hidden_), weight.data(), epsilon_,
                             hidden_, normed);
      workspace.normed.Set(row, normed, hidden_);
    });
  };
  norm(input_norm_, batch.rows());
  if (&kept != &batch) KeepRows(batch, kept, PaddedWidth(hidden_), residual);
  attention_.Forward({batch, kept, workspace.normed, residual, cache}, parts.rotary, parts.core,
                     parts.kernels, parts.team, workspace.attention);
  norm(post_attention_norm_, kept.rows());
  mlp_.Forward(workspace.normed, kept.rows(), residual, parts.kernels, parts.team, workspace.mlp);
}

}  // namespace affine
