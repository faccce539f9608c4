#include "server/telemetry/telemetry.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/server/telemetry/exposition.h"
#include "tests/server/telemetry/line_sink.h"

namespace affine {
namespace {

TEST(TelemetryTest, MetricsAndLogBothHearOfARequest) {
  auto sink = std::make_shared<LineSink>();
  ServerLog log({}, sink);
  Telemetry telemetry(log, "smol", "1.0.0", true);
  telemetry.observer().OnFinish({}, {});
  telemetry.observer().OnRefused("id", {ErrorCause::kFull, "the queue is full", ""});
  telemetry.observer().OnFirstToken(std::chrono::milliseconds(1));
  telemetry.observer().OnInterTokenGap(std::chrono::milliseconds(1));
  telemetry.observer().OnStep({});
  const Exposition page(telemetry.RenderMetrics());
  log.Close();
  EXPECT_EQ(sink->lines().size(), 2u);
  EXPECT_EQ(
      page.Value("affine_requests_finished_total{finished_reason=\"stop\",model_name=\"smol\"}"),
      1);
  EXPECT_EQ(page.Value("affine_requests_refused_total{cause=\"queue_full\",model_name=\"smol\"}"),
            1);
  EXPECT_EQ(page.Value("affine_inter_token_latency_seconds_count{model_name=\"smol\"}"), 1);
  EXPECT_EQ(page.Value("affine_time_to_first_token_seconds_count{model_name=\"smol\"}"), 1);
  EXPECT_EQ(page.Value("affine_step_seconds_count{model_name=\"smol\"}"), 1);
}

TEST(TelemetryTest, APageCanBeReadBeforeTheModelIsThere) {
  ServerLog log({}, std::make_shared<LineSink>());
  const Telemetry telemetry(log, "smol", "1.0.0", true);
  const Exposition page(telemetry.RenderMetrics());
  EXPECT_EQ(page.Value("vllm:num_requests_running{model_name=\"smol\",engine=\"0\"}"), 0);
  EXPECT_TRUE(page.SeriesOf("affine_model_info").empty());
}

}  // namespace
}  // namespace affine
