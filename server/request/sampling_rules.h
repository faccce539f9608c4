// The parameters that say how tokens are drawn, checked and in the model's words.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/model_info.h"
#include "model/tokenizer.h"
#include "server/request/completion_params.h"
#include "server/request/field_checks.h"
#include "server/request/request.h"

namespace affine {

inline constexpr size_t kMaxBadWords = 256;
inline constexpr size_t kMaxBadWordBytes = 1024;
inline constexpr size_t kMaxLogProbIds = 128;

/// Ranges, sizes and ids: what can be said before anything is tokenised.
Checked CheckSampling(const CompletionParams& params, const ModelInfo& model);

/// Sets `request.sampling` from `params`, which CheckSampling has passed. `request` has its prompt,
/// max_tokens and stop_token_ids. `fresh_seed` seeds the draw of a request that brings no seed.
Checked TakeSampling(const CompletionParams& params, const ModelInfo& model,
                     const Tokenizer& tokenizer, uint64_t fresh_seed, Request& request);

}  // namespace affine
