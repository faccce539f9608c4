#include "server/telemetry/edge_telemetry.h"

#include <gtest/gtest.h>

#include <memory>

#include "server/telemetry/metrics_page.h"
#include "tests/server/telemetry/exposition.h"
#include "tests/server/telemetry/line_sink.h"

namespace affine {
namespace {

class EdgeTelemetryTest : public testing::Test {
 protected:
  Exposition Scrape() { return Exposition(MetricsPage({&registry_}, false, {}).Render()); }
  double Refused(const std::string& cause, const std::string& model) {
    return Scrape().Value("affine_requests_refused_total{cause=\"" + cause + "\",model_name=\"" +
                          model + "\"}");
  }

  std::shared_ptr<LineSink> sink_ = std::make_shared<LineSink>();
  ServerLog log_{{}, sink_};
  prometheus::Registry registry_;
  ModelTelemetry plain_{registry_, log_, "plain"};
  ModelTelemetry affine_{registry_, log_, "affine"};
};

TEST_F(EdgeTelemetryTest, CountsRefusalsByCauseAndNeverByWhatTheClientSent) {
  EdgeTelemetry edge(registry_, log_, {&plain_});
  edge.OnRefused("evil\"}\nid", {ErrorCause::kFull, "full", ""});
  edge.OnRefused("other", {ErrorCause::kBadInput, "temperature is -1", "temperature"});
  edge.OnRefused("other", {ErrorCause::kBadInput, "top_p is 2", "top_p"});
  EXPECT_EQ(Scrape().SeriesOf("affine_requests_refused_total").size(), kErrorCauses.size());
  EXPECT_EQ(Refused("bad_input", "plain"), 2);
  EXPECT_EQ(Refused("queue_full", "plain"), 1);
}

TEST_F(EdgeTelemetryTest, ARefusalCountsForTheModelThatRefused) {
  EdgeTelemetry edge(registry_, log_, {&plain_, &affine_});
  RequestError full{ErrorCause::kFull, "full", ""};
  full.model_name = "affine";
  edge.OnRefused("id", full);
  EXPECT_EQ(Refused("queue_full", "affine"), 1);
  EXPECT_EQ(Refused("queue_full", "plain"), 0);
  EXPECT_EQ(Refused("queue_full", ""), 0);
}

TEST_F(EdgeTelemetryTest, AnUnknownModelIsCountedUnderNoNameBesideSeveralModels) {
  EdgeTelemetry edge(registry_, log_, {&plain_, &affine_});
  edge.OnRefused("id", {ErrorCause::kUnknownModel, "the model `evil` is not served here", "model"});
  EXPECT_EQ(Refused("model_not_found", ""), 1);
  EXPECT_EQ(Refused("model_not_found", "plain"), 0);
  EXPECT_EQ(Scrape().SeriesOf("affine_requests_refused_total").size(), 3 * kErrorCauses.size());
}

TEST_F(EdgeTelemetryTest, ARefusalIsLoggedOnce) {
  EdgeTelemetry edge(registry_, log_, {&plain_, &affine_});
  edge.OnRefused("id", {ErrorCause::kFull, "full", ""});
  log_.Close();
  ASSERT_EQ(sink_->lines().size(), 1u);
  EXPECT_EQ(nlohmann::json::parse(sink_->lines()[0])["request_id"], "id");
}

TEST_F(EdgeTelemetryTest, EachModelHearsOfItsOwnFirstTokens) {
  EdgeTelemetry edge(registry_, log_, {&plain_, &affine_});
  edge.OnFirstToken("affine", std::chrono::milliseconds(95));
  const std::string sum = "affine_time_to_first_token_seconds_sum{model_name=";
  EXPECT_NEAR(Scrape().Value(sum + "\"affine\"}"), 0.095, 1e-9);
  EXPECT_EQ(Scrape().Value(sum + "\"plain\"}"), 0);
}

}  // namespace
}  // namespace affine
