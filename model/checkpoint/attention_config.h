// The `attention` key of config.json.
#pragma once

#include "model/attention_spec.h"
#include "model/checkpoint/json_object.h"

namespace affine {

/// `config` is the whole of config.json. Without the key: plain softmax. Throws ModelError.
AttentionSpec ReadAttentionSpec(const JsonObject& config);

}  // namespace affine
