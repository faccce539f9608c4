// Which tensors a checkpoint of a given config must hold.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/checkpoint/model_config.h"

namespace affine {

/// The shapes that a tensor may have; any one of them will do.
using AllowedShapes = std::vector<std::vector<int64_t>>;

/// Every tensor that `config` asks for, by its Hugging Face name. Weights of linear layers are
/// [out, in].
std::map<std::string, AllowedShapes> ExpectedTensors(const ModelConfig& config);

/// Tensors that writers leave in checkpoints and that carry nothing: rotary frequencies, and a
/// copied lm_head.weight where the embeddings are tied.
bool IsHarmlessExtra(std::string_view name, const ModelConfig& config);

}  // namespace affine
