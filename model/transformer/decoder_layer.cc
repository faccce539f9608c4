#include "model/transformer/decoder_layer.h"

#include <string>

#include "model/layers/tensor_values.h"

namespace affine {
namespace {

std::vector<float> ReadNorm(const Checkpoint& checkpoint, int index, const std::string& name) {
  return Floats(checkpoint.tensor("model.layers." + std::to_string(index) + "." + name + ".weight"));
}

}  // namespace

DecoderLayer::DecoderLayer(const ModelConfig& config, const Checkpoint& checkpoint, int index,
                           ElementType element, WorkerTeam& team)
    : hidden_(config.hidden_size),
      epsilon_(static_cast<float>(config.rms_norm_eps)),
      input_norm_(ReadNorm(checkpoint, index, "input_layernorm")),
      post_attention_norm_(ReadNorm(checkpoint, index, "post_attention_layernorm")),
      attention_(config, checkpoint, index, element, team),
      mlp_(config, checkpoint, index, element, team) {}

void DecoderLayer::Forward(const AttentionBatch& batch, CacheLayer cache, const DecoderParts& parts,
                           StepWorkspace& workspace) const {
  float* residual = workspace.residual.data();
  float* normed = workspace.normed.data();
  const auto norm = [&](const std::vector<float>& weight) {
    parts.team.ParallelFor(batch.rows(), [&](int64_t row, int) {
      const int64_t at = row * PaddedWidth(hidden_);
      parts.kernels.rms_norm(residual + at, weight.data(), epsilon_, hidden_, normed + at);
    });
  };
  norm(input_norm_);
  attention_.Forward({batch, normed, residual, cache}, parts.rotary, parts.core, parts.kernels,
                     parts.team, workspace.attention);
  norm(post_attention_norm_);
  mlp_.Forward(normed, batch.rows(), residual, parts.kernels, parts.team, workspace.inner);
}

}  // namespace affine
