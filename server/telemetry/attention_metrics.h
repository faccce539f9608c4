// How stable a served model's attention is, by layer, as Prometheus series.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/model_info.h"
#include "server/engine/engine_observer.h"
#include "server/request/stability_source.h"
#include "server/telemetry/stability_window.h"

namespace affine {

/// Gauges are means over all heads and observed queries of the window's steps (the largest score:
/// the largest), set at each scrape; counters count from the start. Series of alpha exist for
/// affine models alone, of the sink for models that have one: 12 a layer at most. Thread-safe.
class AttentionMetrics final : public EngineObserver, public StabilitySource {
 public:
  AttentionMetrics(prometheus::Registry& registry, const std::string& model_name,
                   const ModelInfo& info);

  void OnStability(std::span<const HeadStability> heads) override;
  void OnUnstable(const Request& request, const LimitBreach& breach) override;
  void OnStep(const StepReport& report) override;
  void OnInterTokenGap(Clock::Duration) override {}
  void OnFinish(const Request&, const RequestFinish&) override {}
  /// Brings the gauges up to date. Called before each scrape.
  void Refresh();

  StabilitySnapshot Snapshot() const override { return window_.Snapshot(); }

 private:
  struct Layer {
    prometheus::Gauge *entropy, *first_token_mass, *largest_score, *weight_sum;
    prometheus::Gauge *negative_mass = nullptr, *alpha = nullptr, *alpha_at_zero = nullptr,
                      *alpha_at_one = nullptr, *alpha_drift = nullptr;  // affine models
    prometheus::Gauge* sink_mass = nullptr;  // models with a denominator of their own
    prometheus::Counter *queries, *non_finite;
  };
  Layer MakeLayer(prometheus::Registry& registry, const prometheus::Labels& labels,
                  const AttentionSpec& spec) const;
  static void Show(const Layer& layer, std::span<const HeadStability> heads);

  StabilityWindow window_;
  std::vector<Layer> layers_;
  prometheus::Counter *steps_, *seconds_;
  std::map<StabilityLimit, prometheus::Counter*> unstable_;
};

}  // namespace affine
