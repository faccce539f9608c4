#include "server/telemetry/attention_metrics.h"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include "tests/server/telemetry/exposition.h"

namespace affine {
namespace {

class AttentionMetricsTest : public testing::Test {
 protected:
  static ModelInfo Info(const AttentionSpec& attention, int32_t layers = 2) {
    ModelInfo info;
    info.num_layers = layers;
    info.num_heads = 2;
    info.attention = attention;
    return info;
  }
  static AttentionSpec Affine() {
    AttentionSpec spec;
    spec.denominator = Denominator::kLearnedSink;
    spec.affine = AffineScale{};
    return spec;
  }
  Exposition Page() {
    return Exposition(prometheus::TextSerializer().Serialize(registry_.Collect()));
  }
  static std::string Series(const std::string& name, int layer) {
    return "affine_attention_" + name + "{layer=\"" + std::to_string(layer) +
           "\",model_name=\"m\"}";
  }

  prometheus::Registry registry_;
};

HeadStability Head(double alpha, double alpha_ma) {
  HeadStability head;
  head.queries = 4;
  head.entropy = 6.0;
  head.first_token_mass = 2.0;
  head.sink_mass = 1.0;
  head.weight_sum = 3.0;
  head.negative_mass = 0.4;
  head.alpha = 4 * alpha;
  head.alpha_at_zero = 1;
  head.alpha_at_one = 2;
  head.alpha_ma = static_cast<float>(alpha_ma);
  head.largest_score = 7.0f;
  return head;
}

TEST_F(AttentionMetricsTest, ShowsTheMeansOfALayersHeads) {
  AttentionMetrics metrics(registry_, "m", Info(Affine()));
  HeadStability second = Head(0.75, 0.5);
  second.entropy = 2.0;
  second.largest_score = 9.0f;
  second.non_finite = 3;
  metrics.OnStability(
      std::vector<HeadStability>{Head(0.25, 0.5), second, Head(0.5, 0.5), Head(0.5, 0.5)});
  metrics.Refresh();
  const Exposition page = Page();
  EXPECT_DOUBLE_EQ(page.Value(Series("entropy_nats", 0)), 1.0);
  EXPECT_DOUBLE_EQ(page.Value(Series("entropy_nats", 1)), 1.5);
  EXPECT_DOUBLE_EQ(page.Value(Series("first_token_mass", 0)), 0.5);
  EXPECT_DOUBLE_EQ(page.Value(Series("largest_score", 0)), 9.0);
  EXPECT_DOUBLE_EQ(page.Value(Series("sink_mass", 0)), 0.25);
  EXPECT_DOUBLE_EQ(page.Value(Series("total_weight", 0)), 0.75);
  EXPECT_DOUBLE_EQ(page.Value(Series("negative_mass", 0)), 0.1);
  EXPECT_DOUBLE_EQ(page.Value(Series("alpha_mean", 0)), 0.5);
  EXPECT_DOUBLE_EQ(page.Value(Series("alpha_at_zero_ratio", 0)), 0.25);
  EXPECT_DOUBLE_EQ(page.Value(Series("alpha_at_one_ratio", 0)), 0.5);
  EXPECT_DOUBLE_EQ(page.Value(Series("alpha_drift", 0)), 0.25);  // of each head, not of their mean
  EXPECT_DOUBLE_EQ(page.Value(Series("alpha_drift", 1)), 0.0);
  EXPECT_DOUBLE_EQ(page.Value(Series("observed_queries_total", 0)), 8.0);
  EXPECT_DOUBLE_EQ(page.Value(Series("non_finite_total", 0)), 3.0);
  EXPECT_DOUBLE_EQ(page.Value("affine_attention_observed_steps_total{model_name=\"m\"}"), 1.0);
}

TEST_F(AttentionMetricsTest, AMemberWithoutAPartHasNoSeriesOfIt) {
  const AttentionMetrics metrics(registry_, "m", Info({}));
  const Exposition page = Page();
  EXPECT_TRUE(page.Has(Series("entropy_nats", 1)));
  for (const char* name : {"alpha_mean", "alpha_drift", "negative_mass", "sink_mass"}) {
    EXPECT_FALSE(page.Has(Series(name, 1))) << name;
  }
}

TEST_F(AttentionMetricsTest, StaysBelowSevenHundredSeriesAtThirtyTwoLayers) {
  const AttentionMetrics metrics(registry_, "m", Info(Affine(), 32));
  size_t series = 0;
  for (const auto& family : registry_.Collect()) series += family.metric.size();
  EXPECT_LT(series, 700u);
  EXPECT_EQ(series, 32u * 12u + 6u);
}

TEST_F(AttentionMetricsTest, CountsRequestsThatPassedALimitByLimit) {
  AttentionMetrics metrics(registry_, "m", Info(Affine()));
  metrics.OnUnstable(Request(), {.limit = StabilityLimit::kEntropy});
  metrics.OnUnstable(Request(), {.limit = StabilityLimit::kEntropy});
  metrics.OnUnstable(Request(), {.limit = StabilityLimit::kNonFinite});
  const Exposition page = Page();
  const auto series = [](const std::string& limit) {
    return "affine_attention_unstable_requests_total{limit=\"" + limit + "\",model_name=\"m\"}";
  };
  EXPECT_EQ(page.Value(series("entropy")), 2.0);
  EXPECT_EQ(page.Value(series("non_finite")), 1.0);
  EXPECT_EQ(page.Value(series("largest_score")), 0.0);
  EXPECT_EQ(page.Value(series("alpha_drift")), 0.0);
}

TEST_F(AttentionMetricsTest, TellsWhatMeasuringCosts) {
  AttentionMetrics metrics(registry_, "m", Info(Affine()));
  StepReport report;
  report.observation = std::chrono::milliseconds(3);
  metrics.OnStep(report);
  metrics.OnStep(report);
  EXPECT_DOUBLE_EQ(Page().Value("affine_attention_observation_seconds_total{model_name=\"m\"}"),
                   0.006);
}

TEST_F(AttentionMetricsTest, BeforeTheFirstObservedStepGaugesAreZero) {
  AttentionMetrics metrics(registry_, "m", Info(Affine()));
  metrics.Refresh();
  EXPECT_EQ(Page().Value(Series("alpha_mean", 0)), 0.0);
}

}  // namespace
}  // namespace affine
