#include "server/engine/stability_limits.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace affine {
namespace {

// Two layers of two heads, of 100 queries each; quiet.
std::vector<HeadStability> Quiet() {
  const HeadStability head{
      .queries = 100, .entropy = 200.0, .alpha = 50.0, .alpha_ma = 0.5f, .largest_score = 8.0f};
  return {4, head};
}

constexpr JudgedLimits kAll{};

TEST(StabilityLimitsTest, WithoutLimitsNothingIsPassed) {
  std::vector<HeadStability> heads = Quiet();
  heads[3].largest_score = 1e9f;
  heads[3].entropy = 0.0;
  EXPECT_FALSE(FindBreach(heads, 2, {}, kAll));
}

TEST(StabilityLimitsTest, NothingIsPassedWithinTheLimits) {
  const StabilityLimits limits{.largest_score = 8.0, .entropy = 2.0, .alpha_drift = 0.0};
  EXPECT_FALSE(FindBreach(Quiet(), 2, limits, kAll));
}

TEST(StabilityLimitsTest, AScoreOverItsLimitNamesLayerHeadAndValue) {
  std::vector<HeadStability> heads = Quiet();
  heads[3].largest_score = 80.5f;
  const auto breach = FindBreach(heads, 2, {.largest_score = 80.0}, kAll);
  ASSERT_TRUE(breach);
  EXPECT_EQ(breach->limit, StabilityLimit::kLargestScore);
  EXPECT_EQ(breach->layer, 1);
  EXPECT_EQ(breach->head, 1);
  EXPECT_EQ(breach->value, 80.5);
  EXPECT_EQ(breach->bound, 80.0);
  EXPECT_FALSE(FindBreach(heads, 2, {.largest_score = 80.0}, {.scores = false}));
}

TEST(StabilityLimitsTest, EntropyIsTheMeanOverALayersHeads) {
  std::vector<HeadStability> heads = Quiet();
  heads[2].entropy = 0.0;  // one head alone: the layer's mean is 1
  EXPECT_FALSE(FindBreach(heads, 2, {.entropy = 0.9}, kAll));
  const auto breach = FindBreach(heads, 2, {.entropy = 1.1}, kAll);
  ASSERT_TRUE(breach);
  EXPECT_EQ(breach->limit, StabilityLimit::kEntropy);
  EXPECT_EQ(breach->layer, 1);
  EXPECT_EQ(breach->head, -1);
  EXPECT_EQ(breach->value, 1.0);
  EXPECT_FALSE(FindBreach(heads, 2, {.entropy = 1.1}, {.entropy = false}));
}

TEST(StabilityLimitsTest, DriftIsJudgedOnceItsMeanIsOfEnoughQueries) {
  std::vector<HeadStability> heads = Quiet();
  heads[0].alpha = 90.0;
  const auto breach = FindBreach(heads, 2, {.alpha_drift = 0.3}, kAll);
  ASSERT_TRUE(breach);
  EXPECT_EQ(breach->limit, StabilityLimit::kAlphaDrift);
  EXPECT_NEAR(breach->value, 0.4, 1e-12);
  EXPECT_FALSE(FindBreach(heads, 2, {.alpha_drift = 0.3}, {.drift = false}));
  heads[0] = {.queries = 63, .alpha = 60.0, .alpha_ma = 0.5f};
  EXPECT_FALSE(FindBreach(heads, 2, {.alpha_drift = 0.3}, kAll));
}

TEST(StabilityLimitsTest, HeadsWithoutQueriesPassNoLimit) {
  const std::vector<HeadStability> heads(4, HeadStability{.non_finite = 3});
  EXPECT_FALSE(
      FindBreach(heads, 2, {.largest_score = -1.0, .entropy = 1.0, .alpha_drift = 0.0}, kAll));
}

TEST(StabilityLimitsTest, EveryLimitHasItsOwnName) {
  std::set<std::string_view> names;
  for (const StabilityLimit limit : kStabilityLimits) names.insert(NameOf(limit));
  EXPECT_EQ(names.size(), std::size(kStabilityLimits));
}

}  // namespace
}  // namespace affine
