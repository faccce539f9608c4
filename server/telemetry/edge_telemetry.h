// What the edge tells: refusals, counted and logged, and when first tokens were
// written.
#pragma once

#include <prometheus/registry.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/api/api_server.h"
#include "server/telemetry/cause_counters.h"
#include "server/telemetry/model_telemetry.h"
#include "server/telemetry/request_log.h"

namespace affine {

/// Thread-safe. A refusal counts for the model that refused. One that no model
/// had part in (an unknown name, a missing key) counts for the only model, or,
/// beside several, under an empty `model_name`.
class EdgeTelemetry final : public ApiObserver {
 public:
  /// References outlive this. `models`: all that are served, at least one.
  EdgeTelemetry(prometheus::Registry& registry, ServerLog& log,
                const std::vector<ModelTelemetry*>& models);
  void OnRefused(const std::string& request_id, const RequestError& error) override;
  void OnFirstToken(const std::string& model_name, Clock::Duration since_arrival) override;

 private:
  struct Model {
    ServingMetrics& serving;
    CauseCounters refused;
  };

  RefusalLog log_;
  std::map<std::string, Model, std::less<>> models_;
  std::optional<CauseCounters> of_no_model_;  // beside several models
};

}  // namespace affine
