// All of the process's telemetry, wired together.
#pragma once

#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <vector>

#include "server/telemetry/edge_telemetry.h"
#include "server/telemetry/log_metrics.h"
#include "server/telemetry/metrics_page.h"
#include "server/telemetry/model_telemetry.h"
#include "server/telemetry/process_metrics.h"
#include "server/telemetry/server_log.h"

namespace affine {

/// One registry and one page; a part for each served model, a part for the
/// edge, and what there is one of in a process. Thread-safe. Outlives the
/// engines and the API server that it listens to.
class Telemetry {
 public:
  /// `log` outlives this. `model_names`: every name that is served, at least
  /// one, all different.
  Telemetry(ServerLog& log, const std::vector<std::string>& model_names, const std::string& version,
            bool vllm_aliases);
  /// Of the model at that place among the names.
  ModelTelemetry& model(size_t index) { return *models_.at(index); }
  ApiObserver& edge() { return edge_; }
  std::string RenderMetrics() const { return page_.Render(); }

 private:
  using Models = std::vector<std::unique_ptr<ModelTelemetry>>;
  static Models MakeModels(prometheus::Registry& registry, ServerLog& log,
                           const std::vector<std::string>& names);
  static std::vector<ModelTelemetry*> Pointers(const Models& models);

  prometheus::Registry registry_;
  const Models models_;
  EdgeTelemetry edge_;
  LogMetrics log_metrics_;
  ProcessMetrics process_metrics_;
  MetricsPage page_;
};

}  // namespace affine
