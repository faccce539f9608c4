#include "server/request/stability_summary.h"

#include <gtest/gtest.h>

#include "tests/server/request/observed_heads.h"

namespace affine {
namespace {

TEST(StabilitySummaryTest, MeansAreOverAllQueriesOfAllHeads) {
  const StabilitySummary summary = Summarize(ObservedHeads(), 2, true);
  EXPECT_DOUBLE_EQ(summary.entropy, 1.1);           // (8 + 2 + 1) / 10
  EXPECT_DOUBLE_EQ(summary.first_token_mass, 0.5);  // (1 + 3 + 1) / 10
  ASSERT_TRUE(summary.alpha);
  EXPECT_DOUBLE_EQ(summary.alpha->mean, 0.5);     // (2 + 3 + 0) / 10
  EXPECT_DOUBLE_EQ(summary.alpha->at_zero, 0.3);  // (1 + 0 + 2) / 10
  EXPECT_DOUBLE_EQ(summary.alpha->at_one, 0.3);   // (2 + 1 + 0) / 10
  EXPECT_FALSE(summary.heads);
}

TEST(StabilitySummaryTest, CountsPositionsOnceAndNonFiniteQueriesOverAllHeads) {
  const StabilitySummary summary = Summarize(ObservedHeads(), 2, true);
  EXPECT_EQ(summary.queries, 4);
  EXPECT_EQ(summary.non_finite, 6);
}

TEST(StabilitySummaryTest, TheWorstHeadIsJudgedByItsOwnMeanAndOfEqualsIsTheFirst) {
  const StabilitySummary summary = Summarize(ObservedHeads(), 2, true);
  EXPECT_EQ(summary.worst_entropy, (WorstHead{0.5, 0, 1})) << "head 1 of layer 1 has 0.5, too";
  EXPECT_EQ(summary.worst_first_token_mass, (WorstHead{0.75, 0, 1}));
  EXPECT_EQ(summary.largest_score, (WorstHead{7, 0, 1}));
  EXPECT_EQ(summary.alpha->worst_drift, (WorstHead{0.5, 1, 1}));
}

TEST(StabilitySummaryTest, DriftIsAMeanOverTheHeadsThatHadQueries) {
  const StabilitySummary summary = Summarize(ObservedHeads(), 2, true);
  EXPECT_DOUBLE_EQ(summary.alpha->drift, 1.0 / 3.0);  // (0.25 + 0.25 + 0.5) / 3
}

TEST(StabilitySummaryTest, ScoresBelowZeroHaveALargestOneToo) {
  std::vector<HeadStability> heads = ObservedHeads();
  heads[0].largest_score = -3;
  heads[1].largest_score = -2;
  EXPECT_EQ(Summarize(heads, 2, true).largest_score, (WorstHead{-1, 1, 1}))
      << "a head without queries has 0 and does not count";
}

TEST(StabilitySummaryTest, WithoutAffineScalingThereIsNoAlpha) {
  const StabilitySummary summary = Summarize(ObservedHeads(), 2, false);
  EXPECT_FALSE(summary.alpha);
  EXPECT_DOUBLE_EQ(summary.entropy, 1.1);
}

TEST(StabilitySummaryTest, WithoutQueriesMeansAreZeroAndNoHeadIsTheWorst) {
  const StabilitySummary summary = Summarize(std::vector<HeadStability>(4), 2, true);
  EXPECT_EQ(summary.queries, 0);
  EXPECT_EQ(summary.entropy, 0);
  EXPECT_EQ(summary.first_token_mass, 0);
  EXPECT_FALSE(summary.worst_entropy || summary.worst_first_token_mass || summary.largest_score);
  ASSERT_TRUE(summary.alpha);
  EXPECT_EQ(summary.alpha->mean, 0);
  EXPECT_EQ(summary.alpha->drift, 0);
  EXPECT_FALSE(summary.alpha->worst_drift);
}

}  // namespace
}  // namespace affine
