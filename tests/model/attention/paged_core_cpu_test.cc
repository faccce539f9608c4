#include "model/attention/paged_core_cpu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/runtime/bfloat16.h"
#include "tests/model/attention/core_run.h"

namespace affine {
namespace {

const AttentionSpec kPlain;

TEST(PagedCoreCpuTest, AgreesWithWholeWeightMatricesInDoublePrecision) {
  for (const AttentionShape& shape :
       {AttentionShape{4, 4, 16}, AttentionShape{6, 2, 32}, AttentionShape{7, 1, 64}}) {
    for (int64_t tokens : {1, 17, 300, 600}) {
      const DirectInput input = RandomInput(kPlain, shape, tokens, 5);
      const auto result = CoreRun{}.Run(shape, input);
      const std::vector<double> expected = DirectAttention(kPlain, shape, input);
      double worst = 0.0;
      for (size_t i = 0; i < expected.size(); ++i) {
        worst = std::max(worst, std::abs(result.output[i] - expected[i]));
      }
      EXPECT_LT(worst, 2e-5) << tokens << " tokens, " << shape.num_heads << " heads";
    }
  }
}

TEST(PagedCoreCpuTest, ValueSumsAndLogSumExpAreThoseOfTheVisibleKeys) {
  const AttentionShape shape{2, 1, 16};
  const DirectInput input = RandomInput(kPlain, shape, 70, 6);
  const auto result = CoreRun{.chunk = 9}.Run(shape, input);
  std::vector<double> sum(16, 0.0);
  for (int64_t t = 0; t < 70; ++t) {
    for (int64_t i = 0; i < 16; ++i) {
      sum[i] += input.value[t * 16 + i];
      EXPECT_NEAR(result.value_sum[t * 16 + i], sum[i], 1e-4);
    }
    for (int64_t h = 0; h < 2; ++h) {
      double total = 0.0;
      for (int64_t j = 0; j <= t; ++j) {
        double score = 0.0;
        for (int64_t i = 0; i < 16; ++i)
          score += input.query[(t * 2 + h) * 16 + i] * input.key[j * 16 + i];
        total += std::exp(score / 4.0);
      }
      EXPECT_NEAR(result.log_sum_exp[t * 2 + h], std::log(total), 1e-4);
    }
  }
}

TEST(PagedCoreCpuTest, BitsDependNeitherOnChunksNorBlocksNorThreads) {
  const AttentionShape shape{6, 2, 32};
  const DirectInput input = RandomInput(kPlain, shape, 530, 7);
  for (ElementType element : {ElementType::kFloat32, ElementType::kBfloat16}) {
    const auto reference = CoreRun{.element = element}.Run(shape, input);
    for (int64_t chunk : {1, 7, 16, 100, 256}) {
      for (int64_t block_size : {16, 48, 256}) {
        const CoreRun run = {element, block_size, chunk, static_cast<int>(1 + chunk % 3)};
        EXPECT_EQ(run.Run(shape, input), reference)
            << "chunk " << chunk << ", block " << block_size;
      }
    }
  }
}

TEST(PagedCoreCpuTest, LaterTokensNeverChangeEarlierOutputs) {
  const AttentionShape shape{4, 2, 16};
  DirectInput input = RandomInput(kPlain, shape, 100, 8);
  const auto before = CoreRun{}.Run(shape, input);
  for (int64_t t = 60; t < 100; ++t) {
    for (int64_t i = 0; i < 32; ++i) {
      input.key[t * 32 + i] = 50.0f;
      input.value[t * 32 + i] = -9e9f;
    }
  }
  const auto after = CoreRun{}.Run(shape, input);
  for (int64_t i = 0; i < 60 * 64; ++i) ASSERT_EQ(before.output[i], after.output[i]);
  for (int64_t i = 0; i < 60 * 32; ++i) ASSERT_EQ(before.value_sum[i], after.value_sum[i]);
  EXPECT_NE(before.output[60 * 64], after.output[60 * 64]);
}

TEST(PagedCoreCpuTest, Bfloat16RoundsQueriesKeysValuesAndExponentialsAndNothingElse) {
  const AttentionShape shape{3, 1, 64};  // head_dim's root is a power of two: scaling is exact
  DirectInput input = RandomInput(kPlain, shape, 300, 9);
  const auto rounded = CoreRun{.element = ElementType::kBfloat16}.Run(shape, input);
  for (auto* x : {&input.query, &input.key, &input.value}) {
    for (float& v : *x) v = FromBfloat16(ToBfloat16(v));
  }
  const auto expected = CoreRun{}.Run(shape, input);  // sums in another order: see MultiplyArgs
  for (float& v : input.value) v = std::abs(v);
  const auto magnitude = CoreRun{}.Run(shape, input);  // sum_j p_j |v_j|
  constexpr float kHalfUnit = 1.0f / 256.0f;           // most that rounding moves an exponential by
  for (size_t i = 0; i < expected.output.size(); ++i) {
    ASSERT_NEAR(rounded.output[i], expected.output[i], kHalfUnit * magnitude.output[i] + 4e-6f);
  }
  for (size_t i = 0; i < expected.log_sum_exp.size(); ++i) {
    ASSERT_NEAR(rounded.log_sum_exp[i], expected.log_sum_exp[i], 4e-6f);
  }
}

TEST(PagedCoreCpuTest, LargeScoresDoNotOverflow) {
  const AttentionShape shape{1, 1, 16};
  DirectInput input = RandomInput(kPlain, shape, 40, 10);
  for (float& v : input.query) v *= 300.0f;
  const auto result = CoreRun{}.Run(shape, input);
  for (float v : result.output) ASSERT_TRUE(std::isfinite(v));
  for (float v : result.log_sum_exp) ASSERT_TRUE(std::isfinite(v));
}

TEST(PagedCoreCpuTest, ANaNInOneSequenceStaysThere) {
  const AttentionShape shape{2, 1, 16};
  const DirectInput good = RandomInput(kPlain, shape, 20, 11);
  const auto alone = CoreRun{}.Run(shape, good);
  DirectInput bad = good;
  bad.value[3] = std::numeric_limits<float>::quiet_NaN();
  const auto broken = CoreRun{}.Run(shape, bad);
  EXPECT_TRUE(std::isnan(broken.output.back() + broken.output[3]));
  EXPECT_EQ(CoreRun{}.Run(shape, good), alone);
}

}  // namespace
}  // namespace affine
