#include "server/telemetry/vllm_aliases.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace affine {
namespace {

struct Alias {
  std::string_view ours;
  std::string_view theirs;
};

// Counters carry the `_total` that vLLM's exposition shows.
constexpr std::array kAliases = {
    Alias{"affine_num_requests_running", "vllm:num_requests_running"},
    Alias{"affine_num_requests_waiting", "vllm:num_requests_waiting"},
    Alias{"affine_kv_cache_usage_ratio", "vllm:kv_cache_usage_perc"},
    Alias{"affine_cache_config_info", "vllm:cache_config_info"},
    Alias{"affine_time_to_first_token_seconds", "vllm:time_to_first_token_seconds"},
    Alias{"affine_inter_token_latency_seconds", "vllm:inter_token_latency_seconds"},
    Alias{"affine_e2e_request_latency_seconds", "vllm:e2e_request_latency_seconds"},
    Alias{"affine_request_queue_time_seconds", "vllm:request_queue_time_seconds"},
    Alias{"affine_request_prefill_time_seconds", "vllm:request_prefill_time_seconds"},
    Alias{"affine_request_decode_time_seconds", "vllm:request_decode_time_seconds"},
    Alias{"affine_request_prompt_tokens", "vllm:request_prompt_tokens"},
    Alias{"affine_request_generation_tokens", "vllm:request_generation_tokens"},
    Alias{"affine_prompt_tokens_total", "vllm:prompt_tokens_total"},
    Alias{"affine_generation_tokens_total", "vllm:generation_tokens_total"},
    Alias{"affine_prefix_cache_queries_total", "vllm:prefix_cache_queries_total"},
    Alias{"affine_prefix_cache_hits_total", "vllm:prefix_cache_hits_total"},
    Alias{"affine_num_preemptions_total", "vllm:num_preemptions_total"},
    Alias{"affine_spec_decode_num_drafts_total", "vllm:spec_decode_num_drafts_total"},
    Alias{"affine_spec_decode_num_draft_tokens_total", "vllm:spec_decode_num_draft_tokens_total"},
    Alias{"affine_spec_decode_num_accepted_tokens_total",
          "vllm:spec_decode_num_accepted_tokens_total"},
    Alias{"affine_requests_finished_total", "vllm:request_success_total"},
};

prometheus::MetricFamily Copy(const prometheus::MetricFamily& family, std::string_view name) {
  prometheus::MetricFamily copy = family;
  copy.name = name;
  for (prometheus::ClientMetric& metric : copy.metric) {
    for (auto& label : metric.label) {
      // Whatever the device, gateways read the number of blocks under this name.
      if (label.name == "num_blocks") label.name = "num_gpu_blocks";
    }
    metric.label.push_back({"engine", "0"});
  }
  return copy;
}

/// The label finished_reason of `metric`; null if it has none.
std::string* ReasonOf(prometheus::ClientMetric& metric) {
  for (auto& label : metric.label) {
    if (label.name == "finished_reason") return &label.value;
  }
  return nullptr;
}

/// vLLM's reasons are a closed set. An answer that the server ended because its attention passed a
/// limit is none that succeeded: it counts among the errors of its model.
void MergeUnstable(prometheus::MetricFamily& family) {
  for (prometheus::ClientMetric& metric : family.metric) {
    std::string* reason = ReasonOf(metric);
    if (reason == nullptr || *reason != "unstable") continue;
    prometheus::ClientMetric twin = metric;
    *ReasonOf(twin) = "error";
    for (prometheus::ClientMetric& other : family.metric) {
      if (other.label == twin.label) other.counter.value += metric.counter.value;
    }
  }
  const auto unstable = [](prometheus::ClientMetric& metric) {
    const std::string* reason = ReasonOf(metric);
    return reason != nullptr && *reason == "unstable";
  };
  family.metric.erase(std::remove_if(family.metric.begin(), family.metric.end(), unstable),
                      family.metric.end());
}

}  // namespace

std::vector<prometheus::MetricFamily> VllmAliases(
    const std::vector<prometheus::MetricFamily>& families) {
  std::vector<prometheus::MetricFamily> aliases;
  for (const prometheus::MetricFamily& family : families) {
    for (const Alias& alias : kAliases) {
      if (family.name != alias.ours) continue;
      aliases.push_back(Copy(family, alias.theirs));
      MergeUnstable(aliases.back());
    }
  }
  return aliases;
}

}  // namespace affine
