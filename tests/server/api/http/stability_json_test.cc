#include "server/api/http/stability_json.h"

#include <gtest/gtest.h>

#include <limits>

#include "server/api/http/json_text.h"
#include "tests/server/request/observed_heads.h"

namespace affine {
namespace {

using nlohmann::json;

json Parsed(const nlohmann::ordered_json& value) { return json::parse(JsonText(value)); }

TEST(StabilityJsonTest, ASummaryHasItsFiguresAndTheWorstHeads) {
  EXPECT_EQ(Parsed(SummaryJson(Summarize(ObservedHeads(), 2, true))), json::parse(R"({
      "queries": 4, "entropy": 1.1, "worst_entropy": {"value": 0.5, "layer": 0, "head": 1},
      "first_token_mass": 0.5, "worst_first_token_mass": {"value": 0.75, "layer": 0, "head": 1},
      "largest_score": {"value": 7.0, "layer": 0, "head": 1},
      "alpha": 0.5, "alpha_at_zero": 0.3, "alpha_at_one": 0.3, "alpha_drift": 0.3333333333333333,
      "worst_alpha_drift": {"value": 0.5, "layer": 1, "head": 1}, "non_finite": 6})"));
}

TEST(StabilityJsonTest, WithoutAffineScalingASummaryHasNoAlpha) {
  const json summary = Parsed(SummaryJson(Summarize(ObservedHeads(), 2, false)));
  for (const char* name :
       {"alpha", "alpha_at_zero", "alpha_at_one", "alpha_drift", "worst_alpha_drift", "heads"}) {
    EXPECT_FALSE(summary.contains(name)) << name;
  }
}

TEST(StabilityJsonTest, ASummarysHeadsAreRowsOfAMatrix) {
  StabilitySummary summary = Summarize(ObservedHeads(), 2, true);
  summary.heads = MatricesOf(ObservedHeads(), 2, true);
  const json heads = Parsed(SummaryJson(summary)).at("heads");
  EXPECT_EQ(heads["num_layers"], 2);
  EXPECT_EQ(heads["entropy"], (json{{2.0, 0.5}, {0.0, 0.5}}));
  EXPECT_EQ(heads["alpha_ma"], (json{{0.25, 0.5}, {0.75, 0.5}}));
  EXPECT_EQ(heads["weight_sum_edges"].size(), 22u);
  EXPECT_EQ(heads["weight_sum_edges"][0], -0.05);
  ASSERT_EQ(heads["weight_sum_counts"].size(), 2u);
  EXPECT_EQ(heads["weight_sum_counts"][0].size(), 23u);
  EXPECT_EQ(heads["weight_sum_counts"][1][21], 1);
}

TEST(StabilityJsonTest, WhatIsNotFiniteIsNull) {
  std::vector<HeadStability> heads = ObservedHeads();
  heads[0].entropy = std::numeric_limits<double>::quiet_NaN();
  heads[1].largest_score = std::numeric_limits<float>::infinity();
  heads[1].alpha = -std::numeric_limits<double>::infinity();
  StabilitySummary summary = Summarize(heads, 2, true);
  summary.heads = MatricesOf(heads, 2, true);
  const json shown = Parsed(SummaryJson(summary));
  EXPECT_EQ(shown["entropy"], nullptr);
  EXPECT_EQ(shown["largest_score"]["value"], nullptr);
  EXPECT_EQ(shown["largest_score"]["head"], 1);
  EXPECT_EQ(shown["heads"]["entropy"], (json{{nullptr, 0.5}, {0.0, 0.5}}));
  EXPECT_EQ(shown["heads"]["alpha"][0][1], nullptr);
}

}  // namespace
}  // namespace affine
