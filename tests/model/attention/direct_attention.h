// The attention family by its definition: whole weight matrices, in double precision.
#pragma once

#include <cstdint>
#include <vector>

#include "model/attention/attention_batch.h"
#include "model/attention_spec.h"

namespace affine {

/// One sequence's projections and parameters, row-major.
struct DirectInput {
  int64_t tokens = 0;
  std::vector<float> query;     // [tokens, heads, head_dim]
  std::vector<float> key;       // [tokens, kv_heads, head_dim]
  std::vector<float> value;     // [tokens, kv_heads, head_dim]
  std::vector<float> alpha_x;   // [tokens, heads]: W_a x
  std::vector<float> gate_x;    // [tokens, heads * head_dim] or [tokens, heads]: W_g x
  std::vector<float> sinks;     // [heads]
  std::vector<float> alpha_ma;  // [heads]
};

/// Weights [heads, tokens, tokens], zero above the diagonal: alpha p + beta, where p is the softmax
/// with the spec's denominator.
std::vector<double> DirectWeights(const AttentionSpec& spec, const AttentionShape& shape,
                                  const DirectInput& input);

/// [tokens, heads, head_dim]: weights times values, then the gate.
std::vector<double> DirectAttention(const AttentionSpec& spec, const AttentionShape& shape,
                                    const DirectInput& input);

/// Normal numbers; alpha_x wide enough that alpha meets 0 and 1.
DirectInput RandomInput(const AttentionSpec& spec, const AttentionShape& shape, int64_t tokens,
                        uint32_t seed);

/// All 18 combinations, and sigmoid and a fixed normalizer for each denominator.
std::vector<AttentionSpec> AllSpecs();

}  // namespace affine
