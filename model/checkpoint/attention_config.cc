#include "model/checkpoint/attention_config.h"

#include <optional>

namespace affine {
namespace {

constexpr int32_t kLongestNormalizer = 1 << 27;  // tokens

std::optional<int32_t> ReadNormalizer(const JsonObject& affine) {
  constexpr char kAllowed[] =
      "Allowed is 'visible' or a fixed whole number of tokens from 1 to 134217728.";
  if (!affine.Has("normalizer")) affine.Refuse("normalizer", kAllowed);
  const nlohmann::json& value = affine.json().at("normalizer");
  if (value == "visible") return std::nullopt;
  if (!value.is_number_integer()) affine.Refuse("normalizer", kAllowed);
  return affine.Int("normalizer", 1, kLongestNormalizer);
}

AffineScale ReadAffineScale(const JsonObject& affine) {
  affine.RequireOnly({"alpha_activation", "normalizer"});
  const auto activation = affine.Choice("alpha_activation", {"linear_clipping", "sigmoid"});
  if (!activation) {
    affine.Refuse("alpha_activation", "Allowed is one of 'linear_clipping', 'sigmoid'.");
  }
  AffineScale scale;
  scale.activation =
      *activation == 0 ? AlphaActivation::kLinearClipping : AlphaActivation::kSigmoid;
  scale.fixed_normalizer = ReadNormalizer(affine);
  return scale;
}

}  // namespace

AttentionSpec ReadAttentionSpec(const JsonObject& config) {
  AttentionSpec spec;
  const std::optional<JsonObject> attention = config.Object("attention");
  if (!attention) return spec;
  attention->RequireOnly({"denominator", "affine", "gate"});
  constexpr Denominator kDenominators[] = {Denominator::kSoftmax, Denominator::kOffByOne,
                                           Denominator::kLearnedSink};
  constexpr Gate kGates[] = {Gate::kNone, Gate::kHeadwise, Gate::kElementwise};
  const auto denominator =
      attention->Choice("denominator", {"softmax", "off_by_one", "learned_sink"});
  spec.denominator = kDenominators[denominator.value_or(0)];
  spec.gate = kGates[attention->Choice("gate", {"none", "headwise", "elementwise"}).value_or(0)];
  if (const auto affine = attention->Object("affine")) spec.affine = ReadAffineScale(*affine);
  return spec;
}

}  // namespace affine
