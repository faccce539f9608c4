#include "server/telemetry/telemetry.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/server/telemetry/exposition.h"
#include "tests/server/telemetry/line_sink.h"

namespace affine {
namespace {

using std::chrono::milliseconds;

class TelemetryTest : public testing::Test {
 protected:
  std::shared_ptr<LineSink> sink_ = std::make_shared<LineSink>();
  ServerLog log_{{}, sink_};
};

TEST_F(TelemetryTest, MetricsAndLogBothHearOfARequest) {
  Telemetry telemetry(log_, {"smol"}, "1.0.0", true);
  telemetry.model(0).observer().OnFinish({}, {});
  telemetry.edge().OnRefused("id", {ErrorCause::kFull, "the queue is full", ""});
  telemetry.edge().OnFirstToken("smol", milliseconds(1));
  telemetry.model(0).observer().OnInterTokenGap(milliseconds(1));
  telemetry.model(0).observer().OnStep({});
  const Exposition page(telemetry.RenderMetrics());
  log_.Close();
  EXPECT_EQ(sink_->lines().size(), 2u);
  EXPECT_EQ(page.Value("affine_requests_finished_total{finished_reason="
                       "\"stop\",model_name=\"smol\"}"),
            1);
  EXPECT_EQ(page.Value("affine_requests_refused_total{cause=\"queue_full\","
                       "model_name=\"smol\"}"),
            1);
  EXPECT_EQ(page.Value("affine_inter_token_latency_seconds_count{model_name=\"smol\"}"), 1);
  EXPECT_EQ(page.Value("affine_time_to_first_token_seconds_count{model_name=\"smol\"}"), 1);
  EXPECT_EQ(page.Value("affine_step_seconds_count{model_name=\"smol\"}"), 1);
}

TEST_F(TelemetryTest, APageCanBeReadBeforeTheModelIsThere) {
  const Telemetry telemetry(log_, {"smol"}, "1.0.0", true);
  const Exposition page(telemetry.RenderMetrics());
  EXPECT_EQ(page.Value("vllm:num_requests_running{model_name=\"smol\",engine=\"0\"}"), 0);
  EXPECT_TRUE(page.SeriesOf("affine_model_info").empty());
}

TEST_F(TelemetryTest, EachModelHasItsOwnSeriesAndLinesAndTheProcessOneOfEach) {
  Telemetry telemetry(log_, {"plain", "affine"}, "1.0.0", true);
  telemetry.model(1).observer().OnFinish({}, {});
  telemetry.edge().OnFirstToken("affine", milliseconds(1));
  telemetry.model(1).observer().OnStep({});
  const Exposition page(telemetry.RenderMetrics());
  log_.Close();
  const auto steps = [&page](const std::string& name) {
    return page.Value("affine_step_seconds_count{model_name=\"" + name + "\"}");
  };
  EXPECT_EQ(steps("plain"), 0);
  EXPECT_EQ(steps("affine"), 1);
  EXPECT_EQ(page.Value("affine_time_to_first_token_seconds_count{model_name=\"affine\"}"), 1);
  EXPECT_EQ(page.SeriesOf("vllm:num_requests_running").size(), 2u);
  EXPECT_EQ(page.SeriesOf("affine_build_info").size(), 1u);
  EXPECT_EQ(page.SeriesOf("affine_log_lines_dropped_total").size(), 1u);
  EXPECT_EQ(page.SeriesOf("process_resident_memory_bytes").size(), 1u);
  ASSERT_EQ(sink_->lines().size(), 1u);
  EXPECT_EQ(nlohmann::json::parse(sink_->lines()[0])["model"], "affine");
}

}  // namespace
}  // namespace affine
