#include "server/scheduler/forecast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace affine {
namespace {

class ForecastTest : public testing::Test {
 protected:
  static ForecastSequence Prompt(int32_t length, int32_t computed = 0) {
    return {.length = length, .computed = computed, .to_come = 50, .decoding = false};
  }
  static ForecastSequence Decoding(int32_t length, int32_t to_come) {
    return {.length = length, .computed = length - 1, .to_come = to_come, .decoding = true};
  }
  Forecast Of(const ForecastSequence& own) const {
    return ForecastFor(own, running_, ahead_, limits_, times_);
  }
  double Prefill(int32_t count, int32_t start = 0) const {
    return times_.PrefillSeconds(start, count);
  }
  double Step(const std::vector<int32_t>& lengths) const {
    StepWork decodes;
    for (const int32_t length : lengths) decodes.AddDecode(length - 1, 1);
    return times_.Seconds(decodes);
  }

  StepTimeModel times_;
  std::vector<ForecastSequence> running_, ahead_;
  ForecastLimits limits_{.max_num_seqs = 8, .max_tokens = 1000, .max_seconds = 0.0, .granule = 16};
};

TEST_F(ForecastTest, AloneAPromptTakesOneStepOfItsTokens) {
  StepWork work;
  work.AddPrefill(0, 300);
  EXPECT_DOUBLE_EQ(Of(Prompt(300)).first_token, times_.Seconds(work));
  EXPECT_EQ(Of(Prompt(300)).ahead, 0);
}

TEST_F(ForecastTest, WhatIsCachedIsNotComputed) {
  EXPECT_DOUBLE_EQ(Of(Prompt(300, 256)).first_token, Step({}) + Prefill(44, 256));
}

TEST_F(ForecastTest, APromptThatAStepCannotHoldTakesMoreOfThem) {
  EXPECT_DOUBLE_EQ(Of(Prompt(2500)).first_token, 3 * Step({}) + Prefill(2500));
}

TEST_F(ForecastTest, PromptsAheadAreComputedBefore) {
  running_ = {Prompt(200, 64)};
  ahead_ = {Prompt(300), Prompt(300)};
  const Forecast forecast = Of(Prompt(100));
  EXPECT_DOUBLE_EQ(forecast.first_token,
                   Step({}) + Prefill(100) + Prefill(136, 64) + 2 * Prefill(300));
  EXPECT_EQ(forecast.ahead, 3);
}

TEST_F(ForecastTest, BesideDecodesStepsAreBoundInTime) {
  running_ = {Decoding(100, 40), Decoding(200, 40)};
  const double decodes = Step({100, 200});
  limits_.max_seconds = decodes + Prefill(100);  // leaves a step about 100 tokens
  const double steps = std::ceil(Prefill(350) / (limits_.max_seconds - decodes));
  EXPECT_EQ(steps, 4);
  EXPECT_DOUBLE_EQ(Of(Prompt(350)).first_token, Prefill(350) + steps * decodes);
  limits_.max_seconds = decodes / 2;  // decodes alone take longer: 16 tokens go on all the same
  EXPECT_DOUBLE_EQ(Of(Prompt(32)).first_token,
                   Prefill(32) + std::ceil(Prefill(32) / Prefill(16)) * decodes);
}

TEST_F(ForecastTest, WithoutAPlaceThoseThatHaveLeastToGoMustEnd) {
  limits_.max_num_seqs = 3;
  running_ = {Decoding(10, 70), Decoding(10, 20), Decoding(10, 50)};
  const double step = Step({10, 10, 10}), own = Prefill(100) + step;
  EXPECT_DOUBLE_EQ(Of(Prompt(100)).first_token, 20 * step + own);
  ahead_ = {Prompt(1)};
  EXPECT_DOUBLE_EQ(Of(Prompt(100)).first_token, 50 * step + own + Prefill(1));
  ahead_.resize(9, Prompt(1));  // more than run: the last one's end is as far as can be seen
  EXPECT_DOUBLE_EQ(Of(Prompt(100)).first_token, 70 * step + own + 9 * Prefill(1));
}

TEST_F(ForecastTest, ATokenTakesAStepThatDecodesAllThatHaveAPlace) {
  running_ = {Decoding(100, 40)};
  ahead_ = {Prompt(200)};
  EXPECT_DOUBLE_EQ(Of(Prompt(300)).per_token, Step({301, 101, 201}));
  limits_.max_num_seqs = 2;
  EXPECT_DOUBLE_EQ(Of(Prompt(300)).per_token, Step({301, 101}));
}

}  // namespace
}  // namespace affine
