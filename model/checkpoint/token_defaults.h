// Special token ids and sampling defaults of a checkpoint.
#pragma once

#include "model/checkpoint/json_object.h"
#include "model/checkpoint/model_config.h"

namespace affine {

/// Sets the ids and defaults of `model` from the top of config.json. Needs model.vocab_size.
void ReadTokenIds(const JsonObject& config, ModelConfig& model);

/// Lets the top of generation_config.json override ids and set the sampling defaults. What has no
/// counterpart in SamplingParams (max_length, do_sample) is left to requests.
void ReadGenerationDefaults(const JsonObject& generation, ModelConfig& model);

}  // namespace affine
