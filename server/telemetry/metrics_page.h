// The page that Prometheus scrapes.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <functional>
#include <string>
#include <vector>

namespace affine {

/// Thread-safe once built: Render may run on several threads.
class MetricsPage {
 public:
  /// The sources outlive the page. `before_scrape` brings gauges up to date; may be empty.
  MetricsPage(std::vector<const prometheus::Collectable*> sources, bool vllm_aliases,
              std::function<void()> before_scrape);
  /// Prometheus' text format, version 0.0.4.
  std::string Render() const;

 private:
  const std::vector<const prometheus::Collectable*> sources_;
  const bool vllm_aliases_;
  const std::function<void()> before_scrape_;
};

}  // namespace affine
