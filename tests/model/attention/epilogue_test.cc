#include "model/attention/epilogue.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/model/attention/core_run.h"

namespace affine {
namespace {

const AttentionShape kShape{6, 2, 16};

std::vector<float> Family(const AttentionSpec& spec, const DirectInput& input, const CoreRun& run) {
  CoreRun::Result core = run.Run(kShape, input);
  const int64_t heads = kShape.num_heads;
  const int64_t gate = spec.gate == Gate::kElementwise ? heads * kShape.head_dim : heads;
  const int64_t stride = heads + gate;
  std::vector<float> projections(input.tokens * stride);
  for (int64_t t = 0; t < input.tokens; ++t) {
    std::copy_n(input.alpha_x.data() + t * heads, heads, projections.data() + t * stride);
    if (spec.gate == Gate::kNone) continue;
    std::copy_n(input.gate_x.data() + t * gate, gate, projections.data() + t * stride + heads);
  }
  EpilogueParams params;
  if (spec.denominator == Denominator::kLearnedSink) params.sinks = input.sinks;
  if (spec.affine) params.alpha_ma = input.alpha_ma;
  const Epilogue epilogue(spec, kShape, params);
  const Epilogue::Call call = {core.output.data(),         core.log_sum_exp.data(),
                               core.value_sum.data(),      projections.data(),
                               projections.data() + heads, stride};
  for (int64_t t = 0; t < input.tokens; ++t) {
    epilogue.Apply(call, KernelsFor(DetectCpuIsa()), t, t);
  }
  return core.output;
}

class EpilogueTest : public testing::TestWithParam<size_t> {};

TEST_P(EpilogueTest, CoreAndEpilogueEqualTheWeightMatrices) {
  const AttentionSpec spec = AllSpecs()[GetParam()];
  const DirectInput input = RandomInput(spec, kShape, 280, 21);
  const std::vector<double> expected = DirectAttention(spec, kShape, input);
  const std::vector<float> actual = Family(spec, input, {});
  double worst = 0.0;
  for (size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, std::abs(actual[i] - expected[i]));
  EXPECT_LT(worst, 3e-5);
}

TEST_P(EpilogueTest, ChunksAndBlocksLeaveEveryBitAsItIs) {
  const AttentionSpec spec = AllSpecs()[GetParam()];
  const DirectInput input = RandomInput(spec, kShape, 90, 22);
  const std::vector<float> reference = Family(spec, input, {});
  EXPECT_EQ(Family(spec, input, {.block_size = 32, .chunk = 1}), reference);
  EXPECT_EQ(Family(spec, input, {.block_size = 64, .chunk = 13}), reference);
}

INSTANTIATE_TEST_SUITE_P(Family, EpilogueTest, testing::Range<size_t>(0, AllSpecs().size()));

TEST(EpilogueAlphaTest, LinearClippingMeetsZeroAndOneExactly) {
  EXPECT_EQ(Alpha(AlphaActivation::kLinearClipping, -5.0f), 0.0f);
  EXPECT_EQ(Alpha(AlphaActivation::kLinearClipping, -70.0f), 0.0f);
  EXPECT_EQ(Alpha(AlphaActivation::kLinearClipping, 5.0f), 1.0f);
  EXPECT_EQ(Alpha(AlphaActivation::kLinearClipping, 0.0f), 0.5f);
  EXPECT_FLOAT_EQ(Alpha(AlphaActivation::kLinearClipping, 2.0f), 0.7f);
  EXPECT_EQ(Alpha(AlphaActivation::kSigmoid, 0.0f), 0.5f);
}

TEST(EpilogueTest, OneRunningMeanStandsForEveryHead) {
  const AttentionSpec spec{Denominator::kSoftmax, AffineScale{}, Gate::kNone};
  DirectInput input = RandomInput(spec, kShape, 20, 23);
  input.alpha_ma.assign(6, 0.4f);
  const std::vector<float> all = Family(spec, input, {});
  input.alpha_ma.resize(1);
  EXPECT_EQ(Family(spec, input, {}), all);
}

TEST(EpilogueTest, AnAlphaThatMeetsItsMeanLeavesTheOutputHalved) {
  const AttentionSpec plain, affine{Denominator::kSoftmax, AffineScale{}, Gate::kNone};
  DirectInput input = RandomInput(affine, kShape, 50, 24);
  input.alpha_x.assign(input.alpha_x.size(), 0.0f);
  input.alpha_ma.assign(6, 0.5f);
  const std::vector<float> whole = Family(plain, input, {}), halved = Family(affine, input, {});
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(halved[i] * 2.0f, whole[i]);
}

}  // namespace
}  // namespace affine
