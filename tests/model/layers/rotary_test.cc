#include "model/layers/rotary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace affine {
namespace {

ModelConfig Config(int32_t head_dim) {
  ModelConfig config;
  config.head_dim = head_dim;
  config.rope_theta = 10000.0;
  return config;
}

TEST(RotaryTest, RotatesPairsHalfAHeadApartByPositionTimesFrequency) {
  const Rotary rotary(Config(16), 100);
  std::vector<float> head(16, 0.0f);
  head[3] = 1.0f;
  rotary.Apply(77, head.data());
  const double angle = 77.0 * std::pow(10000.0, -2.0 * 3 / 16);
  EXPECT_NEAR(head[3], std::cos(angle), 1e-5);
  EXPECT_NEAR(head[11], std::sin(angle), 1e-5);
}

TEST(RotaryTest, ScoresDependOnTheDistanceAlone) {
  const Rotary rotary(Config(16), 64);
  const auto score = [&](int64_t p, int64_t q) {
    std::vector<float> a(16), b(16);
    for (int i = 0; i < 16; ++i) a[i] = std::sin(i + 1.0f), b[i] = std::cos(2.0f * i);
    rotary.Apply(p, a.data());
    rotary.Apply(q, b.data());
    float sum = 0.0f;
    for (int i = 0; i < 16; ++i) sum += a[i] * b[i];
    return sum;
  };
  EXPECT_NEAR(score(5, 2), score(43, 40), 1e-4);
  EXPECT_GT(std::abs(score(5, 2) - score(43, 30)), 1e-2);
}

TEST(RotaryTest, Llama3KeepsShortWavesDividesLongOnesAndBlendsBetween) {
  ModelConfig config = Config(64);
  config.rope_theta = 500000.0;
  const std::vector<float> plain = RotaryFrequencies(config);
  config.rope_scaling = {RopeScaling::Type::kLlama3, 8.0, 1.0, 4.0, 8192};
  const std::vector<float> scaled = RotaryFrequencies(config);
  int kept = 0, divided = 0, blended = 0;
  for (size_t i = 0; i < plain.size(); ++i) {
    const double wavelength = 2.0 * std::numbers::pi / plain[i];
    if (wavelength < 8192 / 4.0) {
      EXPECT_EQ(scaled[i], plain[i]);
      ++kept;
    } else if (wavelength > 8192) {
      EXPECT_FLOAT_EQ(scaled[i], plain[i] / 8.0f);
      ++divided;
    } else {
      EXPECT_LT(scaled[i], plain[i]);
      EXPECT_GT(scaled[i], plain[i] / 8.0f);
      ++blended;
    }
  }
  EXPECT_GT(kept * divided * blended, 0);
}

TEST(RotaryTest, LinearScalingDividesEveryFrequency) {
  ModelConfig config = Config(32);
  const std::vector<float> plain = RotaryFrequencies(config);
  config.rope_scaling = {RopeScaling::Type::kLinear, 4.0};
  const std::vector<float> scaled = RotaryFrequencies(config);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_FLOAT_EQ(scaled[i], plain[i] / 4.0f);
}

}  // namespace
}  // namespace affine
