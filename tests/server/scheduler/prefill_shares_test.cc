#include "server/scheduler/prefill_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace affine {
namespace {

using testing::ElementsAre;

// Wishes in order of rank, and what they get.
class PrefillSharesTest : public testing::Test {
 protected:
  void Wish(int32_t wanted, int32_t priority = 0, int32_t start = 0) {
    Sequence& sequence = sequences_.emplace_back();
    sequence.priority = priority;
    wishes_.push_back({&sequence, start, wanted});
  }
  StepBudget Tokens(int32_t tokens) const {
    return StepBudget({.max_tokens = tokens}, StepWork(), times_);
  }
  // Beside one decode.
  StepBudget TokensAndSeconds(int32_t tokens, double seconds) const {
    StepWork decode;
    decode.AddDecode(0, 1);
    const double whole = std::max(1e-9, seconds + times_.Seconds(decode));
    return StepBudget({.max_tokens = tokens + 1, .max_seconds = whole}, decode, times_);
  }
  std::vector<int32_t> Share(const StepBudget& budget, int32_t granule = 16) {
    SharePrefill(wishes_, budget, granule);
    std::vector<int32_t> shares;
    for (const PrefillWish& wish : wishes_) shares.push_back(wish.share);
    return shares;
  }

  const StepTimeModel times_;
  std::deque<Sequence> sequences_;
  std::vector<PrefillWish> wishes_;
};

TEST_F(PrefillSharesTest, NobodyGetsNothing) { EXPECT_THAT(Share(Tokens(100)), ElementsAre()); }

TEST_F(PrefillSharesTest, OneAloneGetsAllThatFits) {
  Wish(1000);
  EXPECT_THAT(Share(Tokens(260)), ElementsAre(256));
}

TEST_F(PrefillSharesTest, AllGetAllIfThereIsEnough) {
  for (const int32_t wanted : {1000, 3, 40}) Wish(wanted);
  EXPECT_THAT(Share(Tokens(1043)), ElementsAre(1000, 3, 40));
}

TEST_F(PrefillSharesTest, ShortOnesBehindALongOneShareTheOtherHalf) {
  for (const int32_t wanted : {8000, 100, 100, 100}) Wish(wanted);
  EXPECT_THAT(Share(Tokens(1024)), ElementsAre(720, 100, 100, 100));
}

TEST_F(PrefillSharesTest, ShortOnesOverTheirHalfWaitInOrderOfRank) {
  for (const int32_t wanted : {8000, 100, 100, 100, 100}) Wish(wanted);
  EXPECT_THAT(Share(Tokens(512)), ElementsAre(256, 100, 100, 48, 0));
}

TEST_F(PrefillSharesTest, TheShortestOfThoseBehindGoesFirst) {
  for (const int32_t wanted : {8000, 4000, 500, 20}) Wish(wanted);
  EXPECT_THAT(Share(Tokens(512)), ElementsAre(256, 0, 224, 20));
}

TEST_F(PrefillSharesTest, EqualOnesAreFinishedOneAfterAnother) {
  for (int i = 0; i < 6; ++i) Wish(128 + i % 3);
  EXPECT_THAT(Share(Tokens(3 * 130)), ElementsAre(128, 129, 130, 0, 0, 0));
}

TEST_F(PrefillSharesTest, AHigherPriorityIsNotSharedWithALowerOne) {
  Wish(8000, -1);
  Wish(20, 0);
  EXPECT_THAT(Share(Tokens(512)), ElementsAre(512, 0));
}

TEST_F(PrefillSharesTest, WhatAHigherPriorityLeavesIsSharedByTheNext) {
  Wish(100, -1);
  Wish(8000, 0);
  Wish(20, 0);
  EXPECT_THAT(Share(Tokens(512)), ElementsAre(100, 384, 20));
}

TEST_F(PrefillSharesTest, TheFirstInRankGetsAGranuleWhenThereIsNoTime) {
  Wish(8000);
  Wish(20);
  EXPECT_THAT(Share(TokensAndSeconds(512, -1.0)), ElementsAre(16, 0));
}

TEST_F(PrefillSharesTest, WithFewerTokensThanAGranuleTheFirstInRankGetsThese) {
  Wish(8000);
  Wish(20);
  EXPECT_THAT(Share(Tokens(5)), ElementsAre(5, 0));
}

TEST_F(PrefillSharesTest, TimeIsSharedAsTokensAre) {
  Wish(8000, 0, 2000);
  Wish(20);
  Wish(30);
  const double seconds = times_.PrefillSeconds(2000, 200);
  const std::vector<int32_t> shares = Share(TokensAndSeconds(2048, seconds));
  EXPECT_THAT(shares, ElementsAre(testing::AllOf(testing::Ge(100), testing::Le(200)), 20, 30));
  EXPECT_LE(times_.PrefillSeconds(2000, shares[0]) + times_.PrefillSeconds(0, 20) +
                times_.PrefillSeconds(0, 30),
            seconds);
}

TEST_F(PrefillSharesTest, RandomSharesNeverPassTheirWishesTheTokensOrTheTime) {
  std::mt19937 random(1);
  const auto below = [&random](size_t bound) { return static_cast<int32_t>(random() % bound); };
  for (int round = 0; round < 2000; ++round) {
    wishes_.clear();
    sequences_.clear();
    const int32_t count = 1 + below(12), granule = 1 + below(32), tokens = below(2) * below(2000);
    for (int32_t i = 0; i < count; ++i) {
      Wish(1 + below(below(3) == 0 ? 8000 : 200), i / 4, below(4000));
    }
    const double seconds = 0.01 * below(100) - 0.1;
    Share(TokensAndSeconds(tokens, seconds), granule);
    int32_t given = 0;
    double taken = 0.0;
    for (const PrefillWish& wish : wishes_) {
      ASSERT_GE(wish.share, 0);
      ASSERT_LE(wish.share, wish.wanted);
      given += wish.share;
      taken += times_.PrefillSeconds(wish.start, wish.share);
    }
    ASSERT_LE(given, tokens);
    ASSERT_GE(wishes_[0].share, std::min({wishes_[0].wanted, granule, tokens}));
    if (wishes_[0].share > granule || given > wishes_[0].share) {
      ASSERT_LE(taken, seconds + 1e-9);
    }
  }
}

}  // namespace
}  // namespace affine
