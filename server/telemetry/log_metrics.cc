#include "server/telemetry/log_metrics.h"

namespace affine {

std::vector<prometheus::MetricFamily> LogMetrics::Collect() const {
  prometheus::ClientMetric dropped;
  dropped.counter.value = static_cast<double>(log_.dropped());
  return {{"affine_log_lines_dropped_total",
           "Log lines lost because the output could not keep up.",
           prometheus::MetricType::Counter,
           {dropped}}};
}

}  // namespace affine
