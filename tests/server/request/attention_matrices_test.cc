#include "server/request/attention_matrices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/server/request/observed_heads.h"

namespace affine {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AttentionMatricesTest, EachHeadHasItsOwnMeans) {
  const AttentionMatrices matrices = MatricesOf(ObservedHeads(), 2, true);
  EXPECT_EQ(matrices.num_layers, 2);
  EXPECT_EQ(matrices.num_heads, 2);
  EXPECT_THAT(matrices.queries, ElementsAre(4, 4, 0, 2));
  EXPECT_THAT(matrices.non_finite, ElementsAre(0, 0, 4, 2));
  EXPECT_THAT(matrices.entropy, ElementsAre(2, 0.5, 0, 0.5));
  EXPECT_THAT(matrices.first_token_mass, ElementsAre(0.25, 0.75, 0, 0.5));
  EXPECT_THAT(matrices.mean_score, ElementsAre(0.5, -0.5, 0, 0));
  EXPECT_THAT(matrices.largest_score, ElementsAre(3.5, 7, 0, -1));
  EXPECT_THAT(matrices.sink_mass, ElementsAre(0.25, 0, 0, 0));
  EXPECT_THAT(matrices.weight_sum, ElementsAre(1.25, 1, 0, 0.5));
  EXPECT_THAT(matrices.negative_mass, ElementsAre(0.125, 0, 0, 0));
  EXPECT_THAT(matrices.alpha, ElementsAre(0.5, 0.75, 0, 0));
  EXPECT_THAT(matrices.alpha_deviation, ElementsAre(std::sqrt(0.125), 0, 0, 0));
  EXPECT_THAT(matrices.alpha_at_zero, ElementsAre(0.25, 0, 0, 1));
  EXPECT_THAT(matrices.alpha_at_one, ElementsAre(0.5, 0.25, 0, 0));
  EXPECT_THAT(matrices.alpha_ma, ElementsAre(0.25, 0.5, 0.75, 0.5));
}

TEST(AttentionMatricesTest, WeightSumsAreCountedOverAllHeadsOfALayer) {
  const AttentionMatrices matrices = MatricesOf(ObservedHeads(), 2, true);
  std::vector<int64_t> expected(2 * 23, 0);
  expected[11] = 4;       // 1, layer 0
  expected[14] = 4;       // 1.25
  expected[23 + 0] = 1;   // -1, layer 1
  expected[23 + 21] = 1;  // 2
  EXPECT_EQ(matrices.weight_sum_counts, expected);
}

TEST(AttentionMatricesTest, TheEdgesAreWhereTheHistogramsBinsMeet) {
  const std::vector<double> edges = WeightSumEdges();
  ASSERT_EQ(edges.size(), WeightSumHistogram::kBins - 1);
  EXPECT_EQ(edges.front(), -0.05);
  EXPECT_EQ(edges[11], 1.05);
  EXPECT_EQ(edges.back(), 2.05);
  for (size_t i = 0; i < edges.size(); ++i) {
    WeightSumHistogram histogram;
    histogram.Count(edges[i] - 1e-6);
    histogram.Count(edges[i] + 1e-6);
    EXPECT_EQ(histogram.counts()[i], 1u) << edges[i];
    EXPECT_EQ(histogram.counts()[i + 1], 1u) << edges[i];
  }
}

TEST(AttentionMatricesTest, WithoutAffineScalingTheMatricesOfAlphaAreEmpty) {
  const AttentionMatrices matrices = MatricesOf(ObservedHeads(), 2, false);
  EXPECT_THAT(matrices.alpha, IsEmpty());
  EXPECT_THAT(matrices.alpha_deviation, IsEmpty());
  EXPECT_THAT(matrices.alpha_at_zero, IsEmpty());
  EXPECT_THAT(matrices.alpha_at_one, IsEmpty());
  EXPECT_THAT(matrices.alpha_ma, IsEmpty());
  EXPECT_THAT(matrices.entropy, ElementsAre(2, 0.5, 0, 0.5));
}

TEST(AttentionMatricesTest, HeadsThatWereNeverSeenAreZeroThroughout) {
  const AttentionMatrices matrices = MatricesOf(std::vector<HeadStability>(6), 3, true);
  EXPECT_EQ(matrices.num_layers, 2);
  for (const auto* matrix : {&matrices.entropy, &matrices.largest_score, &matrices.weight_sum,
                             &matrices.alpha, &matrices.alpha_deviation, &matrices.alpha_ma}) {
    EXPECT_EQ(matrix->size(), 6u);
    EXPECT_THAT(*matrix, Each(0.0));
  }
  EXPECT_THAT(matrices.weight_sum_counts, Each(0));
  EXPECT_EQ(matrices.weight_sum_counts.size(), 2u * 23u);
}

TEST(AttentionMatricesTest, RoundingNeverMakesADeviationNotANumber) {
  std::vector<HeadStability> heads(1);
  heads[0] = {.queries = 3, .alpha = 3 * 0.1, .alpha_squared = 3 * 0.1 * 0.1 - 1e-17};
  EXPECT_EQ(MatricesOf(heads, 1, true).alpha_deviation[0], 0);
}

}  // namespace
}  // namespace affine
