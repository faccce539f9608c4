#include "model/attention/stability_probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/model/attention/core_run.h"

namespace affine {
namespace {

const AttentionShape kShape{6, 2, 16};

EpilogueParams ParamsOf(const AttentionSpec& spec, const DirectInput& input) {
  EpilogueParams params;
  if (spec.denominator == Denominator::kLearnedSink) params.sinks = input.sinks;
  if (spec.affine) params.alpha_ma = input.alpha_ma;
  return params;
}

// What the probe says of each head of each chunk, by default that is of each chunk's last query.
std::vector<std::vector<HeadStability>> Probe(const AttentionSpec& spec, const DirectInput& input,
                                              CoreRun run) {
  const Epilogue epilogue(spec, kShape, ParamsOf(spec, input));
  std::vector<std::vector<HeadStability>> chunks;
  std::vector<HeadStability> heads(kShape.num_heads);
  run.stability = heads.data();
  run.observe = [&](const CoreRun::Chunk& chunk) {
    const float* alpha = input.alpha_x.data() + chunk.batch.positions[0] * kShape.num_heads;
    const Epilogue::Call call = {nullptr, chunk.out.log_sum_exp, chunk.out.value_sum, alpha,
                                 nullptr, kShape.num_heads};
    heads.assign(kShape.num_heads, HeadStability());
    StabilityProbe(spec, kShape, epilogue)
        .Observe({chunk.batch, chunk.input, chunk.cache, call, chunk.statistics, 0}, chunk.core,
                 chunk.team);
    chunks.push_back(heads);
  };
  run.Run(kShape, input);
  return chunks;
}

// The same from whole weight matrices in double precision.
class Direct {
 public:
  Direct(const AttentionSpec& spec, const DirectInput& input)
      : spec_(spec),
        input_(input),
        weights_(DirectWeights(spec, kShape, input)),
        softmax_(DirectWeights({}, kShape, input)),
        scaled_(DirectWeights({spec.denominator, std::nullopt, Gate::kNone}, kShape, input)) {}

  HeadStability Of(int64_t head, int64_t query) const {
    const int64_t n = input_.tokens, from = (head * n + query) * n;
    HeadStability s;
    double scaled = 0.0;
    for (int64_t j = 0; j <= query; ++j) {
      const double p = softmax_[from + j], w = weights_[from + j];
      s.entropy -= p > 0.0 ? p * std::log(p) : 0.0;
      s.weight_sum += w;
      s.negative_mass += std::max(0.0, -w);
      scaled += scaled_[from + j];
    }
    s.queries = 1;
    s.weight_sums.Count(s.weight_sum);
    s.first_token_mass = softmax_[from];
    s.sink_mass = 1.0 - scaled;
    const std::vector<double> scores = Scores(head, query);
    s.largest_score = static_cast<float>(std::ranges::max(scores));
    s.mean_score = std::reduce(scores.begin(), scores.end()) / static_cast<double>(scores.size());
    s.alpha = spec_.affine
                  ? Alpha(spec_.affine->activation, input_.alpha_x[query * kShape.num_heads + head])
                  : 1.0;
    return s;
  }

 private:
  std::vector<double> Scores(int64_t head, int64_t query) const {
    const int64_t dim = kShape.head_dim, kv = head / (kShape.num_heads / kShape.num_kv_heads);
    std::vector<double> scores;
    for (int64_t j = 0; j <= query; ++j) {
      double score = 0.0;
      for (int64_t i = 0; i < dim; ++i) {
        score += static_cast<double>(input_.query[(query * kShape.num_heads + head) * dim + i]) *
                 input_.key[(j * kShape.num_kv_heads + kv) * dim + i];
      }
      scores.push_back(score / std::sqrt(static_cast<double>(dim)));
    }
    return scores;
  }

  AttentionSpec spec_;
  DirectInput input_;
  std::vector<double> weights_, softmax_, scaled_;  // [heads, tokens, tokens]
};

class StabilityProbeTest : public testing::TestWithParam<size_t> {};

TEST_P(StabilityProbeTest, EveryStatisticIsThatOfTheWholeWeightMatrices) {
  const AttentionSpec spec = AllSpecs()[GetParam()];
  const DirectInput input = RandomInput(spec, kShape, 530, 31);
  const Direct direct(spec, input);
  for (int64_t chunk : {530, 53, 10}) {
    const auto probed = Probe(spec, input, {.chunk = chunk});
    for (size_t c = 0; c < probed.size(); ++c) {
      const int64_t query = static_cast<int64_t>(c + 1) * chunk - 1;
      for (int64_t head = 0; head < kShape.num_heads; ++head) {
        const HeadStability &a = probed[c][head], e = direct.Of(head, query);
        ASSERT_EQ(a.queries, 1);
        ASSERT_NEAR(a.entropy, e.entropy, 1e-4) << "query " << query << ", head " << head;
        ASSERT_NEAR(a.first_token_mass, e.first_token_mass, 1e-4);
        ASSERT_NEAR(a.largest_score, e.largest_score, 1e-4);
        ASSERT_NEAR(a.mean_score, e.mean_score, 1e-4);
        ASSERT_NEAR(a.sink_mass, e.sink_mass, 1e-4);
        ASSERT_NEAR(a.weight_sum, e.weight_sum, 1e-4);
        ASSERT_NEAR(a.negative_mass, e.negative_mass, 1e-4);
        ASSERT_NEAR(a.alpha, e.alpha, 1e-4);
        ASSERT_NEAR(a.alpha_squared, e.alpha * e.alpha, 1e-4);
        ASSERT_EQ(a.alpha_ma, spec.affine ? input.alpha_ma[head] : 1.0f);
      }
    }
  }
}

TEST_P(StabilityProbeTest, AllRowsOfAChunkAddUpToTheMatricesOwnMeans) {
  const AttentionSpec spec = AllSpecs()[GetParam()];
  const DirectInput input = RandomInput(spec, kShape, 290, 35);
  const Direct direct(spec, input);
  for (const CoreRun& run : {CoreRun{.observed_rows = 290}, CoreRun{.observed_rows = 271}}) {
    const std::vector<HeadStability> probed = Probe(spec, input, run).back();
    for (int64_t head = 0; head < kShape.num_heads; ++head) {
      HeadStability e;
      for (int64_t query = 290 - run.observed_rows; query < 290; ++query) {
        e.Add(direct.Of(head, query));
      }
      const auto n = static_cast<double>(run.observed_rows);
      const HeadStability& a = probed[head];
      ASSERT_EQ(a.queries, run.observed_rows);
      ASSERT_NEAR(a.entropy / n, e.entropy / n, 1e-4);
      ASSERT_NEAR(a.first_token_mass / n, e.first_token_mass / n, 1e-4);
      ASSERT_NEAR(a.largest_score, e.largest_score, 1e-4);
      ASSERT_NEAR(a.mean_score / n, e.mean_score / n, 1e-4);
      ASSERT_NEAR(a.sink_mass / n, e.sink_mass / n, 1e-4);
      ASSERT_NEAR(a.weight_sum / n, e.weight_sum / n, 1e-4);
      ASSERT_NEAR(a.negative_mass / n, e.negative_mass / n, 1e-4);
      ASSERT_NEAR(a.alpha / n, e.alpha / n, 1e-4);
      ASSERT_EQ(a.weight_sums, e.weight_sums);
    }
  }
}

TEST_P(StabilityProbeTest, TheBitsDependNeitherOnChunksNorBlocksNorThreads) {
  const AttentionSpec spec = AllSpecs()[GetParam()];
  const DirectInput input = RandomInput(spec, kShape, 300, 32);
  const std::vector<HeadStability> reference = Probe(spec, input, {}).back();
  for (const CoreRun& run :
       {CoreRun{.chunk = 1}, CoreRun{.block_size = 48, .chunk = 7}, CoreRun{.threads = 3}}) {
    EXPECT_EQ(Probe(spec, input, run).back(), reference);
  }
}

INSTANTIATE_TEST_SUITE_P(Family, StabilityProbeTest, testing::Range<size_t>(0, AllSpecs().size()));

TEST(StabilityProbeObservationTest, ObservingChangesNoOutput) {
  const DirectInput input = RandomInput({}, kShape, 300, 33);
  CoreRun observed{.chunk = 37};
  observed.observe = [](const CoreRun::Chunk&) {};
  EXPECT_EQ(observed.Run(kShape, input), CoreRun{.chunk = 37}.Run(kShape, input));
}

TEST(StabilityProbeObservationTest, ScoresThatAreNotFiniteAreCountedAndLeftOutOfTheSums) {
  DirectInput input = RandomInput({}, kShape, 40, 34);
  input.query[39 * 96] = std::numeric_limits<float>::quiet_NaN();  // head 0 of the last query
  const std::vector<HeadStability> heads = Probe({}, input, {}).back();
  EXPECT_EQ(heads[0].non_finite, 1);
  EXPECT_EQ(heads[0].queries, 0);
  EXPECT_EQ(heads[0].entropy, 0.0);
  EXPECT_EQ(heads[1].non_finite, 0);
  EXPECT_EQ(heads[1].queries, 1);
}

TEST(StabilityProbeObservationTest, WhatCameSinceIsTheDifferenceOfSums) {
  HeadStability before{.queries = 2, .entropy = 3.0, .alpha_at_one = 1, .largest_score = 5.0f};
  before.weight_sums.Count(1.0);
  HeadStability after = before;
  HeadStability added{.queries = 1, .entropy = 0.5, .alpha = 0.25, .largest_score = 4.0f};
  added.weight_sums.Count(0.5);
  after.Add(added);
  added.largest_score = 5.0f;  // of all
  EXPECT_EQ(after.Since(before), added);
}

TEST(WeightSumHistogramTest, BinsAreCentredOnTenthsAndOpenAtBothEnds) {
  WeightSumHistogram histogram;
  for (const double sum : {-7.0, -0.051, -0.049, 0.04, 0.96, 1.0, 1.04, 2.04, 2.06, 1e9}) {
    histogram.Count(sum);
  }
  EXPECT_EQ(histogram.counts()[0], 2u);
  EXPECT_EQ(histogram.counts()[1], 2u);
  EXPECT_EQ(histogram.counts()[11], 3u);
  EXPECT_EQ(histogram.counts()[21], 1u);
  EXPECT_EQ(histogram.counts()[22], 2u);
}

TEST(StabilityProbeObservationTest, SumsOfStepsAddUp) {
  HeadStability sum;
  sum.Add({.queries = 2, .entropy = 3.0, .alpha_at_zero = 1, .largest_score = -4.0f});
  sum.Add({.queries = 1, .entropy = 0.5, .largest_score = -1.0f});
  sum.Add({.non_finite = 1});
  EXPECT_EQ(sum.queries, 3);
  EXPECT_EQ(sum.non_finite, 1);
  EXPECT_EQ(sum.entropy, 3.5);
  EXPECT_EQ(sum.alpha_at_zero, 1);
  EXPECT_EQ(sum.largest_score, -1.0f);
}

}  // namespace
}  // namespace affine
