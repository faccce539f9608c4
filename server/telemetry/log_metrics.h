// How well the log keeps up.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

#include "server/telemetry/server_log.h"

namespace affine {

/// affine_log_lines_dropped_total, read from the log at each scrape.
class LogMetrics final : public prometheus::Collectable {
 public:
  /// `log` outlives this.
  explicit LogMetrics(const ServerLog& log) : log_(log) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const ServerLog& log_;
};

}  // namespace affine
