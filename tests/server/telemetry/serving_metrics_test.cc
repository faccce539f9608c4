#include "server/telemetry/serving_metrics.h"

#include <gtest/gtest.h>

#include "server/telemetry/metrics_page.h"
#include "tests/server/telemetry/exposition.h"

namespace affine {
namespace {

using std::chrono::milliseconds;

/// An engine that only says how busy it is.
class LoadedEngine final : public CompletionEngine {
 public:
  explicit LoadedEngine(EngineLoad load) : load_(load) {}
  const ModelInfo& info() const override { return info_; }
  std::variant<std::vector<RequestHandle>, RequestError> SubmitAll(
      std::vector<Request> requests) override {
    return RequestError{};
  }
  void Cancel(RequestHandle handle, std::optional<RequestError> error) override {}
  EngineLoad load() const override { return load_; }

 private:
  ModelInfo info_;
  EngineLoad load_;
};

class ServingMetricsTest : public testing::Test {
 protected:
  Exposition Scrape() {
    return Exposition(MetricsPage({&registry_}, false, [this] { metrics_.Refresh(); }).Render());
  }
  static RequestFinish Finish(FinishReason reason) {
    RequestFinish finish;
    finish.reason = reason;
    finish.prompt_tokens = 7;
    finish.output_tokens = 3;
    finish.arrival = Clock::Time(milliseconds(1000));
    finish.first_scheduled = finish.arrival + milliseconds(40);
    finish.first_token = finish.arrival + milliseconds(90);
    finish.finished = finish.arrival + milliseconds(290);
    return finish;
  }

  prometheus::Registry registry_;
  ServingMetrics metrics_{registry_, "smol"};
};

TEST_F(ServingMetricsTest, AddsUpTheTokensOfSteps) {
  StepReport report;
  report.prefill_tokens = 100;
  report.prefix_queries = 132;
  report.prefix_hits = 32;
  report.decode_tokens = 5;
  report.draft_tokens = 9;
  report.drafted_sequences = 2;
  report.accepted_drafts = 4;
  report.sampled_tokens = 10;
  report.sampled_sequences = 6;
  report.preemptions = 1;
  report.duration = milliseconds(12);
  report.model = milliseconds(11);
  metrics_.OnStep(report);
  metrics_.OnStep(report);
  const Exposition page = Scrape();
  EXPECT_EQ(page.Value("affine_prompt_tokens_total{model_name=\"smol\"}"), 264);
  EXPECT_EQ(page.Value("affine_generation_tokens_total{model_name=\"smol\"}"), 20);
  EXPECT_EQ(page.Value("affine_prefix_cache_queries_total{model_name=\"smol\"}"), 264);
  EXPECT_EQ(page.Value("affine_prefix_cache_hits_total{model_name=\"smol\"}"), 64);
  EXPECT_EQ(page.Value("affine_num_preemptions_total{model_name=\"smol\"}"), 2);
  EXPECT_EQ(page.Value("affine_step_tokens_sum{model_name=\"smol\"}"), 228);
  EXPECT_EQ(page.Value("affine_batch_size_sum{model_name=\"smol\"}"), 12);
  EXPECT_EQ(page.Value("affine_spec_decode_num_drafts_total{model_name=\"smol\"}"), 4);
  EXPECT_EQ(page.Value("affine_spec_decode_num_draft_tokens_total{model_name=\"smol\"}"), 18);
  EXPECT_EQ(page.Value("affine_spec_decode_num_accepted_tokens_total{model_name=\"smol\"}"), 8);
  EXPECT_NEAR(page.Value("affine_step_seconds_sum{model_name=\"smol\"}"), 0.024, 1e-9);
  EXPECT_NEAR(page.Value("affine_step_model_seconds_sum{model_name=\"smol\"}"), 0.022, 1e-9);
}

TEST_F(ServingMetricsTest, MeasuresTimesFromTheArrival) {
  metrics_.CountFirstToken(milliseconds(95));
  metrics_.OnFinish({}, Finish(FinishReason::kLength));
  const Exposition page = Scrape();
  const auto sum = [&page](const std::string& name) {
    EXPECT_EQ(page.Value(name + "_count{model_name=\"smol\"}"), 1) << name;
    return page.Value(name + "_sum{model_name=\"smol\"}");
  };
  EXPECT_NEAR(sum("affine_time_to_first_token_seconds"), 0.095, 1e-9);
  EXPECT_NEAR(sum("affine_request_queue_time_seconds"), 0.04, 1e-9);
  EXPECT_NEAR(sum("affine_request_prefill_time_seconds"), 0.05, 1e-9);
  EXPECT_NEAR(sum("affine_request_decode_time_seconds"), 0.2, 1e-9);
  EXPECT_NEAR(sum("affine_e2e_request_latency_seconds"), 0.29, 1e-9);
  EXPECT_EQ(sum("affine_request_prompt_tokens"), 7);
  EXPECT_EQ(sum("affine_request_generation_tokens"), 3);
}

TEST_F(ServingMetricsTest, TheFirstTokenCountsAtTheEdgeAndNotInTheEngine) {
  metrics_.OnFinish({}, Finish(FinishReason::kLength));
  const std::string count = "affine_time_to_first_token_seconds_count{model_name=\"smol\"}";
  EXPECT_EQ(Scrape().Value(count), 0);
  metrics_.CountFirstToken(milliseconds(95));
  EXPECT_EQ(Scrape().Value(count), 1);
}

TEST_F(ServingMetricsTest, ARequestThatNeverRanWaitedUntilItsEnd) {
  RequestFinish finish = Finish(FinishReason::kError);
  finish.error = RequestError{ErrorCause::kDeadline, "late", ""};
  finish.first_scheduled.reset();
  finish.first_token.reset();
  metrics_.OnFinish({}, finish);
  const Exposition page = Scrape();
  EXPECT_NEAR(page.Value("affine_request_queue_time_seconds_sum{model_name=\"smol\"}"), 0.29, 1e-9);
  EXPECT_EQ(page.Value("affine_request_decode_time_seconds_count{model_name=\"smol\"}"), 0);
}

TEST_F(ServingMetricsTest, CountsEndsByReason) {
  metrics_.OnFinish({}, Finish(FinishReason::kStop));
  metrics_.OnFinish({}, Finish(FinishReason::kLength));
  metrics_.OnFinish({}, Finish(FinishReason::kUnstable));
  for (const ErrorCause cause : kErrorCauses) {
    RequestFinish finish = Finish(FinishReason::kError);
    finish.error = RequestError{cause, "why", ""};
    metrics_.OnFinish({}, finish);
  }
  const Exposition page = Scrape();
  const auto ended = [&page](const std::string& reason) {
    return page.Value("affine_requests_finished_total{finished_reason=\"" + reason +
                      "\",model_name=\"smol\"}");
  };
  EXPECT_EQ(ended("stop"), 1);
  EXPECT_EQ(ended("length"), 1);
  EXPECT_EQ(ended("unstable"), 1);
  EXPECT_EQ(ended("abort"), 2);  // cancelled and past the deadline
  EXPECT_EQ(ended("error"), static_cast<double>(kErrorCauses.size() - 2));
  const auto failed = page.SeriesOf("affine_requests_failed_total");
  EXPECT_EQ(failed.size(), kErrorCauses.size());
  for (const std::string& series : failed) EXPECT_EQ(page.Value(series), 1) << series;
}

TEST_F(ServingMetricsTest, GaugesShowTheEnginesLoadAtTheScrape) {
  StepReport report;
  report.load = {3, 4, 5, 10};
  metrics_.OnStep(report);
  EXPECT_EQ(Scrape().Value("affine_num_requests_running{model_name=\"smol\"}"), 3);
  EXPECT_EQ(Scrape().Value("affine_kv_cache_usage_ratio{model_name=\"smol\"}"), 0.5);
  const LoadedEngine idle({0, 0, 0, 10});  // everything was cancelled since the last step
  metrics_.WatchEngine(&idle);
  const Exposition page = Scrape();
  EXPECT_EQ(page.Value("affine_num_requests_running{model_name=\"smol\"}"), 0);
  EXPECT_EQ(page.Value("affine_num_requests_waiting{model_name=\"smol\"}"), 0);
  EXPECT_EQ(page.Value("affine_kv_cache_blocks_used{model_name=\"smol\"}"), 0);
  EXPECT_EQ(page.Value("affine_kv_cache_usage_ratio{model_name=\"smol\"}"), 0);
  EXPECT_EQ(page.Value("affine_kv_cache_blocks{model_name=\"smol\"}"), 10);
}

TEST_F(ServingMetricsTest, EverySeriesIsThereBeforeTheFirstEvent) {
  const Exposition before = Scrape();
  EXPECT_EQ(before.Value("affine_kv_cache_usage_ratio{model_name=\"smol\"}"), 0);
  EXPECT_EQ(before.Value("affine_inter_token_latency_seconds_count{model_name=\"smol\"}"), 0);
  metrics_.OnInterTokenGap(milliseconds(9));
  const std::string bucket = "affine_inter_token_latency_seconds_bucket{model_name=\"smol\",le=";
  EXPECT_EQ(Scrape().Value(bucket + "\"0.008\"}"), 0);
  EXPECT_EQ(Scrape().Value(bucket + "\"0.01\"}"), 1);
}

}  // namespace
}  // namespace affine
