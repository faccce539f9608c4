#include "tests/model/attention/direct_attention.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace affine {
namespace {

double DirectAlpha(AlphaActivation activation, double x) {
  if (activation == AlphaActivation::kSigmoid) return 1.0 / (1.0 + std::exp(-x));
  if (x < -5.0) return 0.0;
  if (x > 5.0) return 1.0;
  return 0.1 * x + 0.5;
}

// p_j of query t and head h over keys j <= t.
std::vector<double> Probabilities(const AttentionSpec& spec, const AttentionShape& shape,
                                  const DirectInput& input, int64_t h, int64_t t) {
  const int64_t dim = shape.head_dim, kv = h / (shape.num_heads / shape.num_kv_heads);
  std::vector<double> e(t + 1);
  double sum = 0.0;
  for (int64_t j = 0; j <= t; ++j) {
    double score = 0.0;
    for (int64_t i = 0; i < dim; ++i) {
      score += static_cast<double>(input.query[(t * shape.num_heads + h) * dim + i]) *
               input.key[(j * shape.num_kv_heads + kv) * dim + i];
    }
    sum += e[j] = std::exp(score / std::sqrt(static_cast<double>(dim)));
  }
  if (spec.denominator == Denominator::kOffByOne) sum += 1.0;
  if (spec.denominator == Denominator::kLearnedSink)
    sum += std::exp(static_cast<double>(input.sinks[h]));
  for (double& v : e) v /= sum;
  return e;
}

}  // namespace

std::vector<double> DirectWeights(const AttentionSpec& spec, const AttentionShape& shape,
                                  const DirectInput& input) {
  const int64_t n = input.tokens, heads = shape.num_heads;
  std::vector<double> weights(heads * n * n, 0.0);
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t t = 0; t < n; ++t) {
      const std::vector<double> p = Probabilities(spec, shape, input, h, t);
      double alpha = 1.0, beta = 0.0;
      if (spec.affine) {
        alpha = DirectAlpha(spec.affine->activation, input.alpha_x[t * heads + h]);
        beta = (input.alpha_ma[h] - alpha) /
               spec.affine->fixed_normalizer.value_or(static_cast<int32_t>(t + 1));
      }
      for (int64_t j = 0; j <= t; ++j) weights[(h * n + t) * n + j] = alpha * p[j] + beta;
    }
  }
  return weights;
}

std::vector<double> DirectAttention(const AttentionSpec& spec, const AttentionShape& shape,
                                    const DirectInput& input) {
  const int64_t n = input.tokens, heads = shape.num_heads, dim = shape.head_dim;
  const std::vector<double> weights = DirectWeights(spec, shape, input);
  std::vector<double> out(n * heads * dim, 0.0);
  for (int64_t t = 0; t < n; ++t) {
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t kv = h / (heads / shape.num_kv_heads);
      for (int64_t i = 0; i < dim; ++i) {
        double& o = out[(t * heads + h) * dim + i];
        for (int64_t j = 0; j <= t; ++j) {
          o += weights[(h * n + t) * n + j] * input.value[(j * shape.num_kv_heads + kv) * dim + i];
        }
        const int64_t at = spec.gate == Gate::kHeadwise ? t * heads + h : (t * heads + h) * dim + i;
        if (spec.gate != Gate::kNone) o /= 1.0 + std::exp(-static_cast<double>(input.gate_x[at]));
      }
    }
  }
  return out;
}

DirectInput RandomInput(const AttentionSpec& spec, const AttentionShape& shape, int64_t tokens,
                        uint32_t seed) {
  std::mt19937 engine(seed);
  const auto draw = [&](int64_t count, float scale) {
    std::normal_distribution<float> normal(0.0f, scale);
    std::vector<float> x(count);
    for (float& v : x) v = normal(engine);
    return x;
  };
  DirectInput input;
  input.tokens = tokens;
  input.query = draw(tokens * shape.num_heads * shape.head_dim, 1.5f);
  input.key = draw(tokens * shape.num_kv_heads * shape.head_dim, 1.5f);
  input.value = draw(tokens * shape.num_kv_heads * shape.head_dim, 1.0f);
  input.alpha_x = draw(tokens * shape.num_heads, 4.0f);
  const int64_t gate_width = spec.gate == Gate::kHeadwise ? 1 : shape.head_dim;
  input.gate_x = draw(tokens * shape.num_heads * gate_width, 1.0f);
  input.sinks = draw(shape.num_heads, 1.0f);
  input.alpha_ma = draw(shape.num_heads, 0.1f);
  for (float& v : input.alpha_ma) v = std::clamp(0.5f + v, 0.0f, 1.0f);
  return input;
}

std::vector<AttentionSpec> AllSpecs() {
  std::vector<AttentionSpec> specs;
  const AffineScale clipped{AlphaActivation::kLinearClipping, std::nullopt};
  for (auto denominator :
       {Denominator::kSoftmax, Denominator::kOffByOne, Denominator::kLearnedSink}) {
    for (Gate gate : {Gate::kNone, Gate::kHeadwise, Gate::kElementwise}) {
      specs.push_back({denominator, std::nullopt, gate});
      specs.push_back({denominator, clipped, gate});
    }
    specs.push_back(
        {denominator, AffineScale{AlphaActivation::kSigmoid, std::nullopt}, Gate::kNone});
    specs.push_back(
        {denominator, AffineScale{AlphaActivation::kLinearClipping, 2048}, Gate::kNone});
  }
  return specs;
}

}  // namespace affine
