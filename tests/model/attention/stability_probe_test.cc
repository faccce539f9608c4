#include "model/attention/stability_probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

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

// What the probe says of each head after each chunk, that is of each chunk's last query.
std::vector<std::vector<HeadStability>> Probe(const AttentionSpec& spec, const DirectInput& input,
                                              CoreRun run) {
  const Epilogue epilogue(spec, kShape, ParamsOf(spec, input));
  std::vector<std::vector<HeadStability>> chunks;
  run.observe = [&](const CoreRun::Chunk& chunk) {
    const float* alpha = input.alpha_x.data() + chunk.batch.positions[0] * kShape.num_heads;
    const Epilogue::Call call = {nullptr, chunk.out.log_sum_exp, chunk.out.value_sum, alpha,
                                 nullptr, kShape.num_heads};
    std::vector<HeadStability>& heads = chunks.emplace_back(kShape.num_heads);
    StabilityProbe(spec, kShape, epilogue)
        .Observe({chunk.batch, chunk.input, chunk.cache, call, chunk.statistics}, chunk.core,
                 heads.data());
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
    s.first_token_mass = softmax_[from];
    s.sink_mass = 1.0 - scaled;
    s.largest_score = static_cast<float>(LargestScore(head, query));
    s.alpha = spec_.affine
                  ? Alpha(spec_.affine->activation, input_.alpha_x[query * kShape.num_heads + head])
                  : 1.0;
    return s;
  }

 private:
  double LargestScore(int64_t head, int64_t query) const {
    const int64_t dim = kShape.head_dim, kv = head / (kShape.num_heads / kShape.num_kv_heads);
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t j = 0; j <= query; ++j) {
      double score = 0.0;
      for (int64_t i = 0; i < dim; ++i) {
        score += static_cast<double>(input_.query[(query * kShape.num_heads + head) * dim + i]) *
                 input_.key[(j * kShape.num_kv_heads + kv) * dim + i];
      }
      largest = std::max(largest, score / std::sqrt(static_cast<double>(dim)));
    }
    return largest;
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
        ASSERT_NEAR(a.sink_mass, e.sink_mass, 1e-4);
        ASSERT_NEAR(a.weight_sum, e.weight_sum, 1e-4);
        ASSERT_NEAR(a.negative_mass, e.negative_mass, 1e-4);
        ASSERT_NEAR(a.alpha, e.alpha, 1e-4);
        ASSERT_EQ(a.alpha_ma, spec.affine ? input.alpha_ma[head] : 1.0f);
      }
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
