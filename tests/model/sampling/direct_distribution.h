// What sampling parameters mean, by definition, in double precision.
#pragma once

#include <vector>

#include "model/sampling/tokens_so_far.h"
#include "model/sampling_params.h"

namespace affine {

/// Logits [vocab] as bias, penalties, allowed ids and bans leave them; -infinity: ruled out.
std::vector<double> DirectLogits(const std::vector<float>& logits, const SamplingParams& params,
                                 const TokensSoFar& so_far);

/// Probabilities [vocab] of the next token; 0 where it is cut or ruled out.
std::vector<double> DirectDistribution(const std::vector<float>& logits,
                                       const SamplingParams& params,
                                       const TokensSoFar& so_far = {});

}  // namespace affine
