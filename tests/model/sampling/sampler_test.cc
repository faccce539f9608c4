#include "model/sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

namespace affine {
namespace {

constexpr int32_t kVocab = 40;
constexpr int kDraws = 40000;

std::vector<float> Logits(uint32_t seed, int32_t vocab = kVocab) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0f, 1.5f);
  std::vector<float> logits(vocab);
  for (float& v : logits) v = normal(engine);
  return logits;
}

// The distribution that the parameters ask for, by definition, in double precision.
std::vector<double> Expected(const std::vector<float>& logits, const SamplingParams& params) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return logits[a] > logits[b]; });
  std::vector<double> p(logits.size(), 0.0);
  for (size_t i = 0; i < order.size(); ++i) {
    if (params.top_k > 0 && i >= static_cast<size_t>(params.top_k)) break;
    p[order[i]] = std::exp(static_cast<double>(logits[order[i]]) / params.temperature);
  }
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  double reached = 0.0;
  for (int32_t id : order) {
    const bool keep = reached < params.top_p;
    p[id] /= sum;
    reached += p[id];
    if (!keep) p[id] = 0.0;
  }
  const double kept = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& v : p) v /= kept;
  return p;
}

double ChiSquare(const std::vector<double>& expected, const std::vector<int>& counts,
                 int* degrees) {
  double chi = 0.0;
  *degrees = -1;
  double rest_expected = 0.0, rest_count = 0.0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double e = expected[i] * kDraws;
    if (e >= 5.0) {
      chi += (counts[i] - e) * (counts[i] - e) / e;
      ++*degrees;
    } else {
      rest_expected += e;
      rest_count += counts[i];
    }
  }
  if (rest_expected >= 5.0) {
    chi += (rest_count - rest_expected) * (rest_count - rest_expected) / rest_expected;
    ++*degrees;
  }
  return chi;
}

class SamplerDistributionTest : public testing::TestWithParam<SamplingParams> {};

TEST_P(SamplerDistributionTest, DrawsFollowTheDefinition) {
  SamplingParams params = GetParam();
  params.seed = 11;
  const std::vector<float> logits = Logits(5);
  Sampler sampler(KernelsFor(DetectCpuIsa()), kVocab);
  std::vector<int> counts(kVocab, 0);
  for (int i = 0; i < kDraws; ++i) ++counts[sampler.Sample(logits.data(), params, i).id];
  const std::vector<double> expected = Expected(logits, params);
  for (int32_t id = 0; id < kVocab; ++id) {
    if (expected[id] == 0.0) {
      EXPECT_EQ(counts[id], 0) << "token " << id << " was cut";
    }
  }
  int degrees = 0;
  const double chi = ChiSquare(expected, counts, &degrees);
  // Mean + 5 standard deviations of the chi-square distribution.
  EXPECT_LT(chi, degrees + 5.0 * std::sqrt(2.0 * std::max(degrees, 1)));
}

INSTANTIATE_TEST_SUITE_P(
    Parameters, SamplerDistributionTest,
    testing::Values(SamplingParams{}, SamplingParams{.temperature = 0.5f},
                    SamplingParams{.temperature = 2.0f}, SamplingParams{.top_k = 5},
                    SamplingParams{.top_k = 1}, SamplingParams{.top_p = 0.7f},
                    SamplingParams{.top_p = 0.05f},
                    SamplingParams{.temperature = 1.5f, .top_k = 20, .top_p = 0.8f}));

TEST(SamplerTest, GreedyTakesTheLowestIdAmongEquals) {
  std::vector<float> logits(kVocab, 0.0f);
  logits[7] = logits[9] = 3.0f;
  Sampler sampler(KernelsFor(DetectCpuIsa()), kVocab);
  EXPECT_EQ(sampler.Sample(logits.data(), {.temperature = 0.0f}, 0).id, 7);
  EXPECT_EQ(sampler.Sample(logits.data(), {.temperature = 1e-6f}, 0).id, 7);
}

TEST(SamplerTest, ADrawDependsOnSeedAndPositionAlone) {
  const std::vector<float> logits = Logits(1);
  Sampler one(KernelsFor(DetectCpuIsa()), kVocab), other(KernelsFor(DetectCpuIsa()), kVocab);
  std::map<int32_t, int> seen;
  for (int64_t position = 0; position < 100; ++position) {
    const SamplingParams params = {.top_p = 0.9f, .seed = 3};
    other.Sample(Logits(static_cast<uint32_t>(position) + 50).data(), params, position * 7);
    const int32_t id = one.Sample(logits.data(), params, position).id;
    EXPECT_EQ(id, other.Sample(logits.data(), params, position).id);
    ++seen[id];
  }
  EXPECT_GT(seen.size(), 5u);
}

TEST(SamplerTest, TopPOverAFlatLongTailSortsAllOfIt) {
  const int32_t vocab = 5000;
  const std::vector<float> flat(vocab, 1.0f);
  Sampler sampler(KernelsFor(DetectCpuIsa()), vocab);
  int32_t largest = 0;
  for (int64_t i = 0; i < 3000; ++i) {
    const int32_t id = sampler.Sample(flat.data(), {.top_p = 0.5f, .seed = 1}, i).id;
    EXPECT_LT(id, 2501);
    largest = std::max(largest, id);
  }
  EXPECT_GT(largest, 2400);
}

TEST(SamplerTest, LogProbabilitiesAreOfTheModelsOwnDistribution) {
  const std::vector<float> logits = Logits(2);
  double sum = 0.0;
  for (float v : logits) sum += std::exp(static_cast<double>(v));
  Sampler sampler(KernelsFor(DetectCpuIsa()), kVocab);
  const SamplingParams params = {.temperature = 0.3f, .top_k = 3, .seed = 9, .top_log_probs = 4};
  const ScoredToken token = sampler.Sample(logits.data(), params, 17);
  EXPECT_NEAR(token.log_prob, logits[token.id] - std::log(sum), 1e-5);
  ASSERT_EQ(token.top.size(), 4u);
  std::vector<float> sorted = logits;
  std::sort(sorted.rbegin(), sorted.rend());
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(logits[token.top[i].first], sorted[i]);
    EXPECT_NEAR(token.top[i].second, sorted[i] - std::log(sum), 1e-5);
  }
  EXPECT_EQ(sorted[token.rank - 1], logits[token.id]);
}

TEST(SamplerTest, MoreAlternativesThanTokensAreAllTokens) {
  const std::vector<float> logits = Logits(2, 3);
  Sampler sampler(KernelsFor(DetectCpuIsa()), 3);
  EXPECT_EQ(sampler.Score(logits.data(), 1, 20).top.size(), 3u);
}

TEST(SamplerTest, SeesNonFiniteLogits) {
  std::vector<float> logits = Logits(2);
  Sampler sampler(KernelsFor(DetectCpuIsa()), kVocab);
  EXPECT_TRUE(sampler.AllFinite(logits.data()));
  logits[39] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(sampler.AllFinite(logits.data()));
}

}  // namespace
}  // namespace affine
