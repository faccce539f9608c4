#include "server/telemetry/info_metrics.h"

#include <prometheus/gauge.h>

namespace affine {
namespace {

void AddFact(prometheus::Registry& registry, const char* name, const char* help,
             const prometheus::Labels& labels) {
  prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add(labels).Set(1);
}

std::string DenominatorName(Denominator denominator) {
  switch (denominator) {
    case Denominator::kSoftmax:
      return "softmax";
    case Denominator::kOffByOne:
      return "off_by_one";
    case Denominator::kLearnedSink:
      return "learned_sink";
  }
  return "softmax";
}

std::string GateName(Gate gate) {
  switch (gate) {
    case Gate::kNone:
      return "none";
    case Gate::kHeadwise:
      return "headwise";
    case Gate::kElementwise:
      return "elementwise";
  }
  return "none";
}

std::string ActivationName(const AttentionSpec& spec) {
  if (!spec.affine) return "none";
  return spec.affine->activation == AlphaActivation::kSigmoid ? "sigmoid" : "linear_clipping";
}

std::string NormalizerName(const AttentionSpec& spec) {
  if (!spec.affine) return "none";
  const auto& fixed = spec.affine->fixed_normalizer;
  return fixed ? std::to_string(*fixed) : "visible";
}

}  // namespace

void AddBuildInfo(prometheus::Registry& registry, const std::string& version) {
  AddFact(registry, "affine_build_info", "The server's version.", {{"version", version}});
}

void AddModelInfo(prometheus::Registry& registry, const std::string& model_name,
                  const ModelInfo& info, bool prefix_caching) {
  AddFact(registry, "affine_model_info", "What the served model is.",
          {{"model_name", model_name},
           {"architecture", info.architecture},
           {"dtype", info.dtype},
           {"weights", info.weights},
           {"device", info.device},
           {"denominator", DenominatorName(info.attention.denominator)},
           {"alpha_activation", ActivationName(info.attention)},
           {"normalizer", NormalizerName(info.attention)},
           {"gate", GateName(info.attention.gate)},
           {"max_model_len", std::to_string(info.max_model_len)}});
  AddFact(registry, "affine_cache_config_info", "How the paged cache is laid out.",
          {{"model_name", model_name},
           {"block_size", std::to_string(info.block_size)},
           {"num_blocks", std::to_string(info.num_blocks)},
           {"block_bytes", std::to_string(info.block_bytes)},
           {"cache_dtype", info.dtype},
           {"enable_prefix_caching", prefix_caching ? "True" : "False"}});
}

}  // namespace affine
