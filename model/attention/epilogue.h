// Everything in which the members of the attention family differ, after the core (DESIGN: one core,
// one epilogue; arXiv 2602.23057).
#pragma once

#include <cstdint>
#include <vector>

#include "model/attention/attention_batch.h"
#include "model/attention_spec.h"
#include "model/runtime/kernels.h"

namespace affine {

/// Per-layer parameters of the family, float32; empty where the spec does not use them.
struct EpilogueParams {
  std::vector<float> sinks;     // [heads]: s_h of the learned sink
  std::vector<float> alpha_ma;  // [heads]: running mean of alpha that training left
};

/// How one query weighs its keys: w_j = alpha scale p_j + beta, with p the softmax.
struct HeadWeights {
  float alpha = 1.0f;  // 1 without affine scaling
  float scale = 1.0f;  // of the denominator: 1, sigma(lse) or sigma(lse - s_h)
  float beta = 0.0f;
};

/// Turns the core's output, in place, into the layer's attention output:
///   denominator  o *= 1, sigma(lse) or sigma(lse - s_h)
///   affine       o = alpha o + beta value_sum, alpha = phi(W_a x), beta = (alpha_ma - alpha) / N
///   gate         o *= sigma(W_g x), by head or by element
class Epilogue {
 public:
  Epilogue(const AttentionSpec& spec, const AttentionShape& shape, EpilogueParams params);

  struct Call {
    float* output;             // [rows, heads, head_dim], in and out
    const float* log_sum_exp;  // [rows, heads]
    const float* value_sum;    // [rows, kv_heads, head_dim], with affine
    const float* alpha;        // W_a x: row r at alpha + r * stride, [heads]
    float* gate;  // W_g x: row r at gate + r * stride, [heads] or [heads * head_dim]; overwritten
    int64_t stride;
  };
  /// To row `row`, at `position` of its sequence. Rows may be taken by several threads.
  void Apply(const Call& call, const Kernels& kernels, int64_t row, int64_t position) const;
  /// Of row `row`, at `position` of its sequence. Reads call.log_sum_exp and call.alpha alone.
  HeadWeights Weights(const Call& call, int64_t row, int64_t head, int64_t position) const;
  /// The mean of alpha that training left; 1 without affine scaling.
  float alpha_ma(int64_t head) const { return spec_.affine ? params_.alpha_ma[head] : 1.0f; }

 private:
  AttentionSpec spec_;
  AttentionShape shape_;
  EpilogueParams params_;
};

/// phi: 0 below -5, 0.1 x + 0.5 between, 1 above 5; or the logistic function.
float Alpha(AlphaActivation activation, float x);

}  // namespace affine
