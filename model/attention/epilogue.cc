#include "model/attention/epilogue.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace affine {
namespace {

float Logistic(float x) {
  return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(x))));
}

}  // namespace

float Alpha(AlphaActivation activation, float x) {
  if (activation == AlphaActivation::kSigmoid) return Logistic(x);
  return std::clamp(0.1f * x + 0.5f, 0.0f, 1.0f);
}

Epilogue::Epilogue(const AttentionSpec& spec, const AttentionShape& shape, EpilogueParams params)
    : spec_(spec), shape_(shape), params_(std::move(params)) {
  // One value for the whole layer stands for every head.
  if (params_.alpha_ma.size() == 1) params_.alpha_ma.resize(shape.num_heads, params_.alpha_ma[0]);
}

HeadWeights Epilogue::Weights(const Call& call, int64_t row, int64_t head, int64_t position) const {
  HeadWeights weights;
  const float lse = call.log_sum_exp[row * shape_.num_heads + head];
  if (spec_.denominator == Denominator::kOffByOne) weights.scale = Logistic(lse);
  if (spec_.denominator == Denominator::kLearnedSink)
    weights.scale = Logistic(lse - params_.sinks[head]);
  if (spec_.affine) {
    weights.alpha = Alpha(spec_.affine->activation, call.alpha[row * call.stride + head]);
    const auto n = static_cast<float>(spec_.affine->fixed_normalizer.value_or(position + 1));
    weights.beta = (params_.alpha_ma[head] - weights.alpha) / n;
  }
  return weights;
}

void Epilogue::Apply(const Call& call, const Kernels& kernels, int64_t row,
                     int64_t position) const {
  const bool plain =
      spec_.denominator == Denominator::kSoftmax && !spec_.affine && spec_.gate == Gate::kNone;
  if (plain) return;
  const int64_t heads = shape_.num_heads, dim = shape_.head_dim,
                group = heads / shape_.num_kv_heads;
  float* gate = call.gate + row * call.stride;
  if (spec_.gate != Gate::kNone)
    kernels.sigmoid(gate, spec_.gate == Gate::kHeadwise ? heads : heads * dim);
  for (int64_t head = 0; head < heads; ++head) {
    float* output = call.output + (row * heads + head) * dim;
    const HeadWeights weights = Weights(call, row, head, position);
    if (spec_.affine) {
      const float* sum = call.value_sum + (row * shape_.num_kv_heads + head / group) * dim;
      const float weight = weights.alpha * weights.scale;
      for (int64_t i = 0; i < dim; ++i) output[i] = weight * output[i] + weights.beta * sum[i];
    } else if (weights.scale != 1.0f) {
      kernels.scale(weights.scale, dim, output);
    }
    if (spec_.gate == Gate::kHeadwise) kernels.scale(gate[head], dim, output);
    if (spec_.gate == Gate::kElementwise) {
      for (int64_t i = 0; i < dim; ++i) output[i] *= gate[head * dim + i];
    }
  }
}

}  // namespace affine
