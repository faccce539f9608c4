// Rotary position embedding.
#pragma once

#include <cstdint>
#include <vector>

#include "model/checkpoint/model_config.h"

namespace affine {

/// Angles for positions [0, max_length), in float32 as the reference implementations compute them.
/// Pairs are (i, i + head_dim / 2), as Hugging Face checkpoints of Llama and Qwen2 have them.
class Rotary {
 public:
  Rotary(const ModelConfig& config, int64_t max_length);

  /// Rotates `head` [head_dim] in place for `position`.
  void Apply(int64_t position, float* head) const;

 private:
  int64_t half_;                // head_dim / 2
  std::vector<float> cosines_;  // [max_length, half]
  std::vector<float> sines_;    // [max_length, half]
};

/// Inverse frequencies [head_dim / 2] with the config's scaling applied (Llama 3's blends between
/// kept and divided wavelengths).
std::vector<float> RotaryFrequencies(const ModelConfig& config);

}  // namespace affine
