// Rotary position settings, in either of their two spellings.
#pragma once

#include "model/checkpoint/json_object.h"
#include "model/checkpoint/model_config.h"

namespace affine {

/// Sets rope_theta and rope_scaling of `model` from `config`, the whole of config.json: from
/// `rope_parameters` (transformers 5), or from `rope_theta` and `rope_scaling`. Needs
/// model.max_position_embeddings. Throws ModelError.
void ReadRope(const JsonObject& config, ModelConfig& model);

}  // namespace affine
