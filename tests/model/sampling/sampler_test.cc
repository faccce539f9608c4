#include "model/sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "tests/model/sampling/direct_distribution.h"

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

TokenMask MaskOf(const std::vector<int32_t>& ids) {
  TokenMask mask(kVocab);
  for (const int32_t id : ids) mask.Add(id);
  return mask;
}

// Prompt 3 1 4 1, output 5 9 2 6 5 3 5, the last four of which are the step's.
constexpr int32_t kBefore[] = {3, 1, 4, 1, 5, 9, 2}, kRecent[] = {6, 5, 3, 5};
constexpr TokensSoFar kSoFar = {kBefore, kRecent, 4};

std::vector<SamplingParams> Requests() {
  return {SamplingParams{},
          {.temperature = 0.5f},
          {.temperature = 2.0f},
          {.top_k = 5},
          {.top_k = 1},
          {.top_p = 0.7f},
          {.top_p = 0.05f},
          {.temperature = 1.5f, .top_k = 20, .top_p = 0.8f},
          {.min_p = 0.1f},
          {.temperature = 2.0f, .min_p = 0.3f},
          {.min_p = 1.0f},
          {.typical_p = 0.3f},
          {.typical_p = 0.9f},
          {.temperature = 1.7f, .top_k = 25, .top_p = 0.9f, .min_p = 0.02f, .typical_p = 0.8f},
          {.repetition_penalty = 1.8f},
          {.repetition_penalty = 0.6f},
          {.frequency_penalty = 1.1f},
          {.frequency_penalty = -0.4f},
          {.presence_penalty = 1.5f},
          {.presence_penalty = -1.5f},
          {.logit_bias = {{7, 4.0f}, {3, -100.0f}, {39, 1.0f}}},
          {.allowed = MaskOf({0, 5, 31, 32, 39})},
          {.top_p = 0.8f, .allowed = MaskOf({0, 5, 31, 32, 39})},
          {.bad_words = {{5, 30}, {3, 5, 11}, {12}, {9, 13}}},
          {.min_tokens = 8, .held_back_ids = {10, 11, 12}},
          {.min_tokens = 7, .held_back_ids = {10, 11, 12}},
          {.temperature = 1.3f,
           .top_k = 30,
           .top_p = 0.95f,
           .min_p = 0.01f,
           .typical_p = 0.95f,
           .repetition_penalty = 1.2f,
           .frequency_penalty = 0.3f,
           .presence_penalty = 0.2f,
           .logit_bias = {{5, 1.5f}},
           .bad_words = {{5, 8}, {17}},
           .min_tokens = 20,
           .held_back_ids = {1}}};
}

class SamplerDistributionTest : public testing::TestWithParam<size_t> {
 protected:
  static void ExpectDistribution(const std::vector<double>& expected,
                                 const std::vector<int>& counts) {
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
};

TEST_P(SamplerDistributionTest, DrawsFollowTheDefinition) {
  SamplingParams params = Requests()[GetParam()];
  params.seed = 11;
  const std::vector<float> logits = Logits(5);
  Sampler sampler(KernelsFor(DetectCpuIsa()), kVocab);
  std::vector<int> counts(kVocab, 0);
  for (int i = 0; i < kDraws; ++i) ++counts[sampler.Sample(logits.data(), params, i, kSoFar).id];
  ExpectDistribution(DirectDistribution(logits, params, kSoFar), counts);
}

// As in a batch: between two draws of a request come draws of others, from other rows.
TEST_P(SamplerDistributionTest, DrawsInCompanyAreThoseAlone) {
  std::vector<SamplingParams> requests = Requests();
  const std::vector<float> logits = Logits(5), other = Logits(6);
  SamplingParams params = requests[GetParam()];
  params.seed = 12;
  params.top_log_probs = 3;
  Sampler alone(KernelsFor(DetectCpuIsa()), kVocab), shared(KernelsFor(DetectCpuIsa()), kVocab);
  const TokensSoFar others_tokens = {kRecent, kBefore, 2};
  std::vector<int> counts(kVocab, 0);
  for (int i = 0; i < kDraws; ++i) {
    SamplingParams& company = requests[i % requests.size()];
    company.seed = i;
    shared.Sample(other.data(), company, i, others_tokens);
    const ScoredToken token = shared.Sample(logits.data(), params, i, kSoFar);
    ++counts[token.id];
    const ScoredToken same = alone.Sample(logits.data(), params, i, kSoFar);
    ASSERT_EQ(token.id, same.id);
    ASSERT_EQ(token.log_prob, same.log_prob);
    ASSERT_EQ(token.top, same.top);
  }
  ExpectDistribution(DirectDistribution(logits, params, kSoFar), counts);
}

TEST_P(SamplerDistributionTest, GreedyIsTheLargestOfTheShapedLogits) {
  SamplingParams params = Requests()[GetParam()];
  params.temperature = 0.0f;
  Sampler sampler(KernelsFor(DetectCpuIsa()), kVocab);
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const std::vector<float> logits = Logits(seed);
    const std::vector<double> shaped = DirectLogits(logits, params, kSoFar);
    const auto best = std::max_element(shaped.begin(), shaped.end()) - shaped.begin();
    EXPECT_EQ(sampler.Sample(logits.data(), params, 3, kSoFar).id, best) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Requests, SamplerDistributionTest,
                         testing::Range(size_t{0}, Requests().size()));

TEST(SamplerTest, WhatIsRuledOutIsNotDrawnUnderAnyInstructionSet) {
  for (const CpuIsa isa : SupportedCpuIsas()) {
    Sampler sampler(KernelsFor(isa), kVocab);
    for (SamplingParams params : Requests()) {
      for (int i = 0; i < 300; ++i) {
        params.seed = i;
        const std::vector<float> logits = Logits(i % 7);
        const int32_t id = sampler.Sample(logits.data(), params, i, kSoFar).id;
        EXPECT_GT(DirectDistribution(logits, params, kSoFar)[id], 0.0);
      }
    }
  }
}

TEST(SamplerTest, WhereBansLeaveNothingTheyDoNotHold) {
  std::vector<float> logits = Logits(3);
  logits[6] = logits[4] + 0.5f;
  Sampler sampler(KernelsFor(DetectCpuIsa()), kVocab);
  SamplingParams params = {
      .allowed = MaskOf({4, 6}), .bad_words = {{4}}, .min_tokens = 1, .held_back_ids = {6}};
  std::map<int32_t, int> seen;
  for (int i = 0; i < 200; ++i) ++seen[sampler.Sample(logits.data(), params, i).id];
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_TRUE(seen.contains(4) && seen.contains(6));
  params.temperature = 0.0f;
  EXPECT_EQ(sampler.Sample(logits.data(), params, 0).id, 6);
}

TEST(SamplerTest, NoParameterChangesLogProbabilities) {
  const std::vector<float> logits = Logits(5);
  Sampler sampler(KernelsFor(DetectCpuIsa()), kVocab);
  for (SamplingParams params : Requests()) {
    params.top_log_probs = 5;
    params.log_prob_ids = {39, 0, 39};
    const ScoredToken token = sampler.Sample(logits.data(), params, 77, kSoFar);
    const ScoredToken raw = sampler.Score(logits.data(), token.id, 5);
    EXPECT_EQ(token.log_prob, raw.log_prob);
    EXPECT_EQ(token.rank, raw.rank);
    EXPECT_EQ(token.top, raw.top);
    ASSERT_EQ(token.chosen.size(), 3u);
    for (const auto& [id, log_prob] : token.chosen) {
      EXPECT_EQ(log_prob, sampler.Score(logits.data(), id, 0).log_prob);
    }
    EXPECT_EQ(token.chosen[0].first, 39);
    EXPECT_EQ(token.chosen[1].first, 0);
  }
}

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
