#include "server/telemetry/vllm_aliases.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include "server/telemetry/info_metrics.h"
#include "server/telemetry/metrics_page.h"
#include "server/telemetry/serving_metrics.h"
#include "tests/server/telemetry/exposition.h"

namespace affine {
namespace {

class VllmAliasesTest : public testing::Test {
 protected:
  void SetUp() override {
    ModelInfo info;
    info.block_size = 16;
    info.num_blocks = 512;
    AddModelInfo(registry_, "smol", info, true);
    StepReport report;
    report.prefill_tokens = 8;
    report.sampled_tokens = 2;
    report.draft_tokens = 5;
    report.accepted_drafts = 1;
    report.load = {1, 2, 3, 4};
    metrics_.OnStep(report);
    RequestFinish finish;
    finish.prompt_tokens = 4;
    finish.first_token = finish.arrival + std::chrono::milliseconds(3);
    finish.finished = finish.arrival + std::chrono::milliseconds(5);
    metrics_.OnFinish({}, finish);
    metrics_.OnInterTokenGap(std::chrono::milliseconds(4));
  }
  Exposition Scrape(bool aliases) {
    return Exposition(MetricsPage({&registry_}, aliases, {}).Render());
  }

  prometheus::Registry registry_;
  ServingMetrics metrics_{registry_, "smol"};
};

// Names and types as vLLM's own page shows them.
TEST_F(VllmAliasesTest, CarriesVllmsNamesWithVllmsTypes) {
  const Exposition page = Scrape(true);
  for (const char* gauge : {"vllm:num_requests_running", "vllm:num_requests_waiting",
                            "vllm:kv_cache_usage_perc", "vllm:cache_config_info"}) {
    EXPECT_EQ(page.TypeOf(gauge), "gauge") << gauge;
    EXPECT_EQ(page.SeriesOf(gauge).size(), 1u) << gauge;
  }
  for (const char* counter :
       {"vllm:prompt_tokens_total", "vllm:generation_tokens_total",
        "vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total",
        "vllm:num_preemptions_total", "vllm:request_success_total",
        "vllm:spec_decode_num_drafts_total", "vllm:spec_decode_num_draft_tokens_total",
        "vllm:spec_decode_num_accepted_tokens_total"}) {
    EXPECT_EQ(page.TypeOf(counter), "counter") << counter;
  }
  for (const char* histogram :
       {"vllm:time_to_first_token_seconds", "vllm:inter_token_latency_seconds",
        "vllm:e2e_request_latency_seconds", "vllm:request_queue_time_seconds",
        "vllm:request_prefill_time_seconds", "vllm:request_decode_time_seconds",
        "vllm:request_prompt_tokens", "vllm:request_generation_tokens"}) {
    EXPECT_EQ(page.TypeOf(histogram), "histogram") << histogram;
  }
}

TEST_F(VllmAliasesTest, AnAliasEqualsItsOriginal) {
  const Exposition page = Scrape(true);
  const auto equal = [&page](const std::string& ours, const std::string& theirs) {
    EXPECT_EQ(page.Value(ours + "{model_name=\"smol\"}"),
              page.Value(theirs + "{model_name=\"smol\",engine=\"0\"}"));
  };
  equal("affine_num_requests_running", "vllm:num_requests_running");
  equal("affine_num_requests_waiting", "vllm:num_requests_waiting");
  equal("affine_kv_cache_usage_ratio", "vllm:kv_cache_usage_perc");
  equal("affine_prompt_tokens_total", "vllm:prompt_tokens_total");
  equal("affine_generation_tokens_total", "vllm:generation_tokens_total");
  equal("affine_spec_decode_num_draft_tokens_total", "vllm:spec_decode_num_draft_tokens_total");
  equal("affine_spec_decode_num_accepted_tokens_total",
        "vllm:spec_decode_num_accepted_tokens_total");
  equal("affine_time_to_first_token_seconds_sum", "vllm:time_to_first_token_seconds_sum");
  equal("affine_inter_token_latency_seconds_count", "vllm:inter_token_latency_seconds_count");
  EXPECT_EQ(page.Value("vllm:kv_cache_usage_perc{model_name=\"smol\",engine=\"0\"}"), 0.75);
  EXPECT_EQ(page.SeriesOf("affine_e2e_request_latency_seconds_bucket").size(),
            page.SeriesOf("vllm:e2e_request_latency_seconds_bucket").size());
}

// vLLM's dashboards know stop, length, abort and error.
TEST_F(VllmAliasesTest, AnUnstableAnswerCountsAmongTheErrorsOfItsModel) {
  ServingMetrics other(registry_, "other");
  RequestFinish finish;
  finish.reason = FinishReason::kUnstable;
  metrics_.OnFinish({}, finish);
  metrics_.OnFinish({}, finish);
  other.OnFinish({}, finish);
  finish.reason = FinishReason::kError;
  metrics_.OnFinish({}, finish);
  const Exposition page = Scrape(true);
  const auto theirs = [&page](const std::string& reason, const std::string& model) {
    return page.Value("vllm:request_success_total{finished_reason=\"" + reason +
                      "\",model_name=\"" + model + "\",engine=\"0\"}");
  };
  EXPECT_EQ(theirs("error", "smol"), 3);
  EXPECT_EQ(theirs("error", "other"), 1);
  EXPECT_EQ(theirs("stop", "smol"), 1);
  EXPECT_EQ(page.SeriesOf("vllm:request_success_total").size(), 8u);
  EXPECT_EQ(page.Value("affine_requests_finished_total{finished_reason=\"unstable\","
                       "model_name=\"smol\"}"),
            2);
}

TEST_F(VllmAliasesTest, GatewaysFindBlockSizeAndNumberOfBlocks) {
  const auto series = Scrape(true).SeriesOf("vllm:cache_config_info");
  ASSERT_EQ(series.size(), 1u);
  EXPECT_NE(series[0].find("block_size=\"16\""), std::string::npos) << series[0];
  EXPECT_NE(series[0].find("num_gpu_blocks=\"512\""), std::string::npos) << series[0];
}

TEST_F(VllmAliasesTest, CanBeLeftOut) {
  EXPECT_TRUE(Scrape(false).SeriesOf("vllm:num_requests_running").empty());
  EXPECT_FALSE(Scrape(false).SeriesOf("affine_num_requests_running").empty());
}

}  // namespace
}  // namespace affine
