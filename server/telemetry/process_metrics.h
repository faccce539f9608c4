// What the operating system says of this process, under the names that Prometheus clients use.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace affine {

/// Reads procfs at each scrape. What can't be read is left out of the page, never shown as 0.
class ProcessMetrics final : public prometheus::Collectable {
 public:
  /// `proc`: where procfs is mounted.
  explicit ProcessMetrics(std::string proc = "/proc");
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::string proc_;
};

}  // namespace affine
