#include "server/telemetry/attention_metrics.h"

#include <cmath>

namespace affine {
namespace {

prometheus::Gauge* NewGauge(prometheus::Registry& registry, const prometheus::Labels& labels,
                            const char* name, const char* help) {
  return &prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add(labels);
}

prometheus::Counter* NewCounter(prometheus::Registry& registry, const prometheus::Labels& labels,
                                const char* name, const char* help) {
  return &prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add(labels);
}

}  // namespace

AttentionMetrics::AttentionMetrics(prometheus::Registry& registry, const std::string& model_name,
                                   const ModelInfo& info)
    : window_(info.num_layers, info.num_heads),
      steps_(NewCounter(registry, {{"model_name", model_name}},
                        "affine_attention_observed_steps_total",
                        "Steps whose attention was sampled.")),
      seconds_(NewCounter(registry, {{"model_name", model_name}},
                          "affine_attention_observation_seconds_total",
                          "Seconds of the model's steps that went into measuring attention.")) {
  for (const StabilityLimit limit : kStabilityLimits) {
    unstable_[limit] = NewCounter(
        registry, {{"model_name", model_name}, {"limit", std::string(NameOf(limit))}},
        "affine_attention_unstable_requests_total", "Requests whose attention passed a limit.");
  }
  for (int32_t i = 0; i < info.num_layers; ++i) {
    layers_.push_back(MakeLayer(
        registry, {{"model_name", model_name}, {"layer", std::to_string(i)}}, info.attention));
  }
}

AttentionMetrics::Layer AttentionMetrics::MakeLayer(prometheus::Registry& registry,
                                                    const prometheus::Labels& labels,
                                                    const AttentionSpec& spec) const {
  const auto gauge = [&](const char* name, const char* help) {
    return NewGauge(registry, labels, name, help);
  };
  Layer layer{};
  layer.entropy =
      gauge("affine_attention_entropy_nats", "Entropy of the softmax over the visible keys.");
  layer.first_token_mass =
      gauge("affine_attention_first_token_mass", "Softmax weight of a sequence's first token.");
  layer.largest_score = gauge("affine_attention_largest_score", "Largest q k / sqrt(head_dim).");
  layer.weight_sum =
      gauge("affine_attention_total_weight", "Sum of a query's weights, before the gate.");
  if (spec.affine) {
    layer.negative_mass =
        gauge("affine_attention_negative_mass", "Sum of a query's negative weights, negated.");
    layer.alpha = gauge("affine_attention_alpha_mean", "Alpha.");
    layer.alpha_at_zero =
        gauge("affine_attention_alpha_at_zero_ratio", "Share of queries with alpha exactly 0.");
    layer.alpha_at_one =
        gauge("affine_attention_alpha_at_one_ratio", "Share of queries with alpha exactly 1.");
    layer.alpha_drift =
        gauge("affine_attention_alpha_drift",
              "Distance of alpha's mean from the mean that training left, over heads.");
  }
  if (spec.denominator != Denominator::kSoftmax) {
    layer.sink_mass =
        gauge("affine_attention_sink_mass", "Weight that the denominator takes from all keys.");
  }
  layer.queries = NewCounter(registry, labels, "affine_attention_observed_queries_total",
                             "Queries, over all heads, whose attention was measured.");
  layer.non_finite = NewCounter(registry, labels, "affine_attention_non_finite_total",
                                "Observed queries, over all heads, whose scores were not finite.");
  return layer;
}

void AttentionMetrics::OnStability(std::span<const HeadStability> heads) {
  window_.Add(heads);
  steps_->Increment();
  for (size_t i = 0; i < heads.size(); ++i) {
    const Layer& layer = layers_[i / window_.heads()];
    layer.queries->Increment(static_cast<double>(heads[i].queries));
    if (heads[i].non_finite > 0)
      layer.non_finite->Increment(static_cast<double>(heads[i].non_finite));
  }
}

void AttentionMetrics::OnUnstable(const Request&, const LimitBreach& breach) {
  unstable_.at(breach.limit)->Increment();
}

void AttentionMetrics::OnStep(const StepReport& report) {
  seconds_->Increment(std::chrono::duration<double>(report.observation).count());
}

void AttentionMetrics::Refresh() {
  const std::vector<HeadStability> sums = window_.Snapshot().sums;
  for (size_t i = 0; i < layers_.size(); ++i) {
    Show(layers_[i], std::span(sums).subspan(i * window_.heads(), window_.heads()));
  }
}

void AttentionMetrics::Show(const Layer& layer, std::span<const HeadStability> heads) {
  HeadStability sum;
  double drift = 0.0;
  for (const HeadStability& head : heads) {
    sum.Add(head);
    if (head.queries > 0)
      drift += std::abs(head.alpha / static_cast<double>(head.queries) - head.alpha_ma);
  }
  if (sum.queries == 0) return;
  const auto queries = static_cast<double>(sum.queries);
  layer.entropy->Set(sum.entropy / queries);
  layer.first_token_mass->Set(sum.first_token_mass / queries);
  layer.largest_score->Set(sum.largest_score);
  layer.weight_sum->Set(sum.weight_sum / queries);
  if (layer.sink_mass != nullptr) layer.sink_mass->Set(sum.sink_mass / queries);
  if (layer.alpha == nullptr) return;
  layer.negative_mass->Set(sum.negative_mass / queries);
  layer.alpha->Set(sum.alpha / queries);
  layer.alpha_at_zero->Set(static_cast<double>(sum.alpha_at_zero) / queries);
  layer.alpha_at_one->Set(static_cast<double>(sum.alpha_at_one) / queries);
  layer.alpha_drift->Set(drift / static_cast<double>(heads.size()));
}

}  // namespace affine
