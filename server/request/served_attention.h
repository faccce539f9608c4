// How stable a served model's attention is, over the latest observed steps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "server/request/attention_matrices.h"
#include "server/request/request_error.h"
#include "server/request/served_models.h"

namespace affine {

/// affine.v1.GetAttentionResponse. Before the first observed step all figures are 0.
struct ServedAttention {
  std::string model;
  int32_t observed_steps = 0;
  AttentionMatrices heads;
};

/// Of the model under `name` (empty: the first), or ServedModels::Find's error, or kNotFound where
/// nothing is observed.
std::variant<ServedAttention, RequestError> AttentionOf(const ServedModels& models,
                                                        std::string_view name);

}  // namespace affine
