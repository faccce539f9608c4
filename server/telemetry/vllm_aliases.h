// The names that dashboards, autoscalers and gateways made for vLLM look for.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace affine {

/// For each family that has a counterpart in vLLM, a copy under vLLM's name with vLLM's `engine`
/// label. Copied at scrape time, an alias can't differ from its original and costs the engine
/// nothing. Families without a counterpart give none.
std::vector<prometheus::MetricFamily> VllmAliases(
    const std::vector<prometheus::MetricFamily>& families);

}  // namespace affine
