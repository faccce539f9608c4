#include "server/api/grpc/stability_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/request/observed_heads.h"

namespace affine {
namespace {

using ::testing::ElementsAre;

TEST(StabilityCodecTest, ASummaryHasItsFiguresAndTheWorstHeads) {
  const v1::StabilitySummary message = SummaryMessage(Summarize(ObservedHeads(), 2, true));
  EXPECT_EQ(message.queries(), 4u);
  EXPECT_DOUBLE_EQ(message.entropy(), 1.1);
  EXPECT_EQ(message.worst_entropy().value(), 0.5);
  EXPECT_EQ(message.worst_entropy().layer(), 0u);
  EXPECT_EQ(message.worst_entropy().head(), 1u);
  EXPECT_EQ(message.first_token_mass(), 0.5);
  EXPECT_EQ(message.worst_first_token_mass().value(), 0.75);
  EXPECT_EQ(message.largest_score().value(), 7);
  EXPECT_EQ(message.alpha(), 0.5);
  EXPECT_DOUBLE_EQ(message.alpha_at_zero(), 0.3);
  EXPECT_DOUBLE_EQ(message.alpha_at_one(), 0.3);
  EXPECT_DOUBLE_EQ(message.alpha_drift(), 1.0 / 3.0);
  EXPECT_EQ(message.worst_alpha_drift().layer(), 1u);
  EXPECT_EQ(message.worst_alpha_drift().head(), 1u);
  EXPECT_EQ(message.non_finite(), 6u);
  EXPECT_FALSE(message.has_heads());
}

TEST(StabilityCodecTest, WithoutAffineScalingASummaryHasNoAlpha) {
  const v1::StabilitySummary message = SummaryMessage(Summarize(ObservedHeads(), 2, false));
  EXPECT_FALSE(message.has_alpha() || message.has_alpha_at_zero() || message.has_alpha_at_one());
  EXPECT_FALSE(message.has_alpha_drift() || message.has_worst_alpha_drift());
}

TEST(StabilityCodecTest, WithoutQueriesNoHeadIsTheWorst) {
  const v1::StabilitySummary message =
      SummaryMessage(Summarize(std::vector<HeadStability>(4), 2, true));
  EXPECT_FALSE(message.has_worst_entropy() || message.has_worst_first_token_mass());
  EXPECT_FALSE(message.has_largest_score() || message.has_worst_alpha_drift());
  EXPECT_TRUE(message.has_alpha());
}

TEST(StabilityCodecTest, HeadsAreListsRowByRow) {
  const v1::AttentionHeads message = HeadsMessage(MatricesOf(ObservedHeads(), 2, true));
  EXPECT_EQ(message.num_layers(), 2u);
  EXPECT_EQ(message.num_heads(), 2u);
  EXPECT_THAT(message.queries(), ElementsAre(4, 4, 0, 2));
  EXPECT_THAT(message.non_finite(), ElementsAre(0, 0, 4, 2));
  EXPECT_THAT(message.entropy(), ElementsAre(2, 0.5, 0, 0.5));
  EXPECT_THAT(message.first_token_mass(), ElementsAre(0.25, 0.75, 0, 0.5));
  EXPECT_THAT(message.mean_score(), ElementsAre(0.5, -0.5, 0, 0));
  EXPECT_THAT(message.largest_score(), ElementsAre(3.5, 7, 0, -1));
  EXPECT_THAT(message.sink_mass(), ElementsAre(0.25, 0, 0, 0));
  EXPECT_THAT(message.weight_sum(), ElementsAre(1.25, 1, 0, 0.5));
  EXPECT_THAT(message.negative_mass(), ElementsAre(0.125, 0, 0, 0));
  EXPECT_THAT(message.alpha(), ElementsAre(0.5, 0.75, 0, 0));
  EXPECT_EQ(message.alpha_deviation_size(), 4);
  EXPECT_THAT(message.alpha_at_zero(), ElementsAre(0.25, 0, 0, 1));
  EXPECT_THAT(message.alpha_at_one(), ElementsAre(0.5, 0.25, 0, 0));
  EXPECT_THAT(message.alpha_ma(), ElementsAre(0.25, 0.5, 0.75, 0.5));
  ASSERT_EQ(message.weight_sum_counts_size(), 2 * 23);
  EXPECT_EQ(message.weight_sum_counts(14), 4u);
  EXPECT_EQ(message.weight_sum_counts(23), 1u);
}

}  // namespace
}  // namespace affine
