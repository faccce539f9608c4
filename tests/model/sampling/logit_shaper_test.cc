#include "model/sampling/logit_shaper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "model/sampling/logit_mask.h"
#include "tests/model/sampling/direct_distribution.h"

namespace affine {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr float kRuledOut = -std::numeric_limits<float>::infinity();
constexpr float kMost = std::numeric_limits<float>::max();

using Row = std::vector<float>;
using Ids = std::vector<int32_t>;

Row Shaped(const Row& logits, const SamplingParams& params, const TokensSoFar& so_far = {}) {
  LogitShaper shaper(static_cast<int32_t>(logits.size()));
  const float* shaped = shaper.Shape(logits.data(), params, so_far);
  return {shaped, shaped + logits.size()};
}

TokenMask MaskOf(int32_t vocab_size, const Ids& ids) {
  TokenMask mask(vocab_size);
  for (const int32_t id : ids) mask.Add(id);
  return mask;
}

TEST(LogitShaperTest, WhatIsNeutralIsTheVeryRow) {
  const Row logits = {1, 2, 3};
  LogitShaper shaper(3);
  const Ids tokens = {0, 1, 1};
  const SamplingParams cuts_alone = {
      .temperature = 0.5f, .top_k = 1, .top_p = 0.5f, .min_p = 0.1f, .typical_p = 0.5f};
  EXPECT_EQ(shaper.Shape(logits.data(), {}, {{}, tokens, 1}), logits.data());
  EXPECT_EQ(shaper.Shape(logits.data(), cuts_alone, {{}, tokens, 1}), logits.data());
}

TEST(LogitShaperTest, ABiasIsAdded) {
  const SamplingParams params = {.logit_bias = {{2, -100.0f}, {0, 0.5f}}};
  EXPECT_THAT(Shaped({1, 2, 3}, params), ElementsAre(1.5f, 2, -97));
}

TEST(LogitShaperTest, RepetitionIsOfPromptAndOutputAndTowardsLess) {
  const Ids prompt = {0, 1, 1}, output = {2, 2};
  // Once for each token, however often it came.
  EXPECT_THAT(Shaped({3, -3, 6, 5, 0}, {.repetition_penalty = 2.0f}, {prompt, output, 3}),
              ElementsAre(1.5f, -6, 3, 5, 0));
  EXPECT_THAT(Shaped({3, -3, 6, 5, 0}, {.repetition_penalty = 0.5f}, {prompt, output, 3}),
              ElementsAre(6, -1.5f, 12, 5, 0));
}

TEST(LogitShaperTest, FrequencyAndPresenceAreOfTheOutputAlone) {
  const Ids prompt = {0, 0, 3}, output = {1, 2, 2, 2};
  const TokensSoFar so_far = {prompt, output, 3};
  EXPECT_THAT(Shaped({8, 8, 8, 8}, {.frequency_penalty = 0.5f}, so_far),
              ElementsAre(8, 7.5f, 6.5f, 8));
  EXPECT_THAT(Shaped({8, 8, 8, 8}, {.presence_penalty = 2.0f}, so_far), ElementsAre(8, 6, 6, 8));
  EXPECT_THAT(Shaped({8, 8, 8, 8}, {.frequency_penalty = -1.0f, .presence_penalty = 0.5f}, so_far),
              ElementsAre(8, 8.5f, 10.5f, 8));
}

TEST(LogitShaperTest, PenaltiesFollowTheBiasAndTheRepetitionTheOthers) {
  const Ids output = {0, 0};
  const SamplingParams params = {.repetition_penalty = 2.0f,
                                 .frequency_penalty = 1.0f,
                                 .presence_penalty = 0.25f,
                                 .logit_bias = {{0, 3.0f}}};
  EXPECT_THAT(Shaped({-1, 4}, params, {{}, output, 0}), ElementsAre(-1.25f, 4));  // 2 / 2 - 2 - 1/4
}

TEST(LogitShaperTest, WhereTheStepsBorderLiesMakesNoDifference) {
  const Ids tokens = {4, 1, 1, 2, 0, 2, 1};
  const SamplingParams params = {.repetition_penalty = 1.3f,
                                 .frequency_penalty = 0.7f,
                                 .presence_penalty = 0.2f,
                                 .bad_words = {{0, 2, 1, 3}, {2, 1, 4}, {1, 0}}};
  const Row logits = {0.3f, 1.7f, -2.2f, 0.9f, 0.1f};
  const Row whole = Shaped(logits, params, {{}, tokens, 3});
  EXPECT_EQ(whole[3], kRuledOut);
  EXPECT_EQ(whole[4], kRuledOut);
  EXPECT_EQ(whole[0], kRuledOut);
  LogitShaper shaper(5);
  for (size_t border = 0; border <= tokens.size(); ++border) {
    const std::span all(tokens);
    const float* shaped =
        shaper.Shape(logits.data(), params, {all.first(border), all.subspan(border), 3});
    EXPECT_EQ(Row(shaped, shaped + 5), whole) << border;
  }
}

TEST(LogitShaperTest, NothingIsLeftOfRowsBefore) {
  LogitShaper shaper(4);
  const Ids long_output = {0, 1, 2, 3, 3, 3}, output = {2};
  const Row logits = {1, 2, 3, 4};
  const SamplingParams all = {.repetition_penalty = 3.0f,
                              .frequency_penalty = 1.0f,
                              .logit_bias = {{1, 5.0f}},
                              .allowed = MaskOf(4, {1, 2}),
                              .bad_words = {{2}}};
  shaper.Shape(logits.data(), all, {{}, long_output, 2});
  const float* shaped = shaper.Shape(logits.data(), {.presence_penalty = 1.0f}, {{}, output, 0});
  EXPECT_THAT(Row(shaped, shaped + 4), ElementsAre(1, 2, 2, 4));
}

TEST(LogitShaperTest, OnlyAllowedIdsAreLeft) {
  EXPECT_THAT(Shaped({1, 2, 3, 4}, {.allowed = MaskOf(4, {3, 1})}),
              ElementsAre(kRuledOut, 2, kRuledOut, 4));
}

TEST(LogitShaperTest, AMaskForOneDrawHoldsBesideAllElse) {
  LogitShaper shaper(4);
  const Row logits = {1, 2, 3, 4};
  const auto shaped = [&](const SamplingParams& params, const Ids& ids) {
    const float* row = shaper.Shape(logits.data(), params, {}, MaskOf(4, ids).words());
    return Row(row, row + 4);
  };
  EXPECT_THAT(shaped({}, {0, 2}), ElementsAre(1, kRuledOut, 3, kRuledOut));
  EXPECT_THAT(shaped({.logit_bias = {{0, 9.0f}, {1, 9.0f}}}, {0, 2}),
              ElementsAre(10, kRuledOut, 3, kRuledOut));
  EXPECT_THAT(shaped({.allowed = MaskOf(4, {2, 3})}, {0, 2}),
              ElementsAre(kRuledOut, kRuledOut, 3, kRuledOut));
  EXPECT_THAT(shaped({.bad_words = {{2}}}, {0, 2}),
              ElementsAre(1, kRuledOut, kRuledOut, kRuledOut));
}

TEST(LogitShaperTest, AMaskRulesOutExactlyWhatItLacksOverTheBordersOfWords) {
  std::mt19937 random(4);
  for (const int32_t vocab : {1, 31, 32, 33, 64, 200}) {
    TokenMask mask(vocab);
    Row expected(vocab, kRuledOut);
    for (int32_t id = 0; id < vocab; ++id) {
      const bool in = id >= 64 ? id < 128 : random() % 2 == 0;  // a full word, and empty ones
      if (!in) continue;
      mask.Add(id);
      expected[id] = static_cast<float>(id);
    }
    Row row(vocab);
    for (int32_t id = 0; id < vocab; ++id) row[id] = static_cast<float>(id);
    LogitMask(vocab).Apply(mask.words(), row.data());
    EXPECT_EQ(row, expected) << vocab;
    EXPECT_EQ(mask.words().size(), static_cast<size_t>((vocab + 31) / 32));
  }
}

TEST(LogitShaperTest, ABadWordIsNotCompleted) {
  const SamplingParams params = {.bad_words = {{1, 2}, {3}}};
  const Ids one = {1}, other = {2}, twice = {1, 1}, past = {1, 2};
  EXPECT_THAT(Shaped({0, 1, 2, 3}, params, {{}, one, 0}), ElementsAre(0, 1, kRuledOut, kRuledOut));
  EXPECT_THAT(Shaped({0, 1, 2, 3}, params, {{}, other, 0}), ElementsAre(0, 1, 2, kRuledOut));
  EXPECT_THAT(Shaped({0, 1, 2, 3}, params, {{}, twice, 0}),
              ElementsAre(0, 1, kRuledOut, kRuledOut));
  EXPECT_THAT(Shaped({0, 1, 2, 3}, params, {{}, past, 0}), ElementsAre(0, 1, 2, kRuledOut));
}

TEST(LogitShaperTest, ABadWordDoesNotBeginInThePrompt) {
  const SamplingParams params = {.bad_words = {{1, 2, 3}}};
  const Ids tokens = {1, 2};
  EXPECT_THAT(Shaped({0, 1, 2, 3}, params, {{}, tokens, 1}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Shaped({0, 1, 2, 3}, params, {{}, tokens, 0}), ElementsAre(0, 1, 2, kRuledOut));
}

TEST(LogitShaperTest, StopTokensAreHeldBackUntilTheOutputIsLongEnough) {
  const SamplingParams params = {.min_tokens = 2, .held_back_ids = {0, 2}};
  const Ids tokens = {1, 1, 1};
  EXPECT_THAT(Shaped({5, 6, 7}, params, {{}, tokens, 3}), ElementsAre(kRuledOut, 6, kRuledOut));
  EXPECT_THAT(Shaped({5, 6, 7}, params, {{}, tokens, 2}), ElementsAre(kRuledOut, 6, kRuledOut));
  EXPECT_THAT(Shaped({5, 6, 7}, params, {{}, tokens, 1}), ElementsAre(5, 6, 7));
}

TEST(LogitShaperTest, WithoutBansTheRestStands) {
  const SamplingParams params = {
      .logit_bias = {{0, 1.0f}}, .allowed = MaskOf(3, {0}), .bad_words = {{0}}};
  EXPECT_THAT(Shaped({5, 6, 7}, params), Each(kRuledOut));
  LogitShaper shaper(3);
  const Row logits = {5, 6, 7};
  const float* shaped = shaper.ShapeWithoutBans(logits.data(), params, {});
  EXPECT_THAT(Row(shaped, shaped + 3), ElementsAre(6, kRuledOut, kRuledOut));
}

TEST(LogitShaperTest, WhatLeavesTheRangeOfNumbersStaysFinite) {
  const Ids output = {0, 1, 2};
  const SamplingParams params = {
      .repetition_penalty = 1e-30f, .frequency_penalty = 2.0f, .logit_bias = {{0, 100.0f}}};
  EXPECT_THAT(Shaped({kMost, 1e20f, 0}, params, {{}, output, 0}), ElementsAre(kMost, kMost, -2));
  EXPECT_THAT(Shaped({-kMost, 1, 2}, {.repetition_penalty = 100.0f}, {{}, output, 0}),
              ElementsAre(-kMost, 0.01f, 0.02f));
}

TEST(LogitShaperTest, RandomRequestsAreShapedByTheDefinition) {
  std::mt19937 random(8);
  const auto below = [&](int n) { return static_cast<int32_t>(random() % n); };
  std::uniform_real_distribution<float> real(-2.0f, 2.0f);
  constexpr int32_t kVocab = 70;
  LogitShaper shaper(kVocab);
  for (int trial = 0; trial < 300; ++trial) {
    Row logits(kVocab);
    for (float& x : logits) x = 4 * real(random);
    SamplingParams params;
    if (below(2)) params.repetition_penalty = 1.5f + real(random) / 2;
    if (below(2)) params.frequency_penalty = real(random);
    if (below(2)) params.presence_penalty = real(random);
    if (below(2)) params.logit_bias = {{below(kVocab), real(random)}};
    if (below(2)) params.allowed = MaskOf(kVocab, {below(kVocab), below(kVocab), below(kVocab)});
    for (int word = below(4); word > 0; --word) params.bad_words.push_back({below(6), below(6)});
    if (below(2)) params.min_tokens = below(9), params.held_back_ids = {below(6), below(6)};
    Ids tokens(below(12) + 1);
    for (int32_t& id : tokens) id = below(6);
    const auto prompt = below(static_cast<int>(tokens.size())) + 1;
    const std::span all(tokens);
    const size_t border = below(static_cast<int>(tokens.size()));
    const TokensSoFar so_far = {all.first(border), all.subspan(border), prompt};
    const float* shaped = shaper.Shape(logits.data(), params, so_far);
    const std::vector<double> expected = DirectLogits(logits, params, so_far);
    for (int32_t id = 0; id < kVocab; ++id) {
      if (std::isinf(expected[id])) {
        EXPECT_EQ(shaped[id], kRuledOut) << trial << " " << id;
      } else {
        EXPECT_NEAR(shaped[id], expected[id], 1e-5) << trial << " " << id;
      }
    }
  }
}

}  // namespace
}  // namespace affine
