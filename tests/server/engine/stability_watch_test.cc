#include "server/engine/stability_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/server/engine/engine_fixture.h"

namespace affine {
namespace {

using testing::SizeIs;

class StabilityWatchTest : public EngineFixture {
 protected:
  Trial SubmitObserved(std::vector<int32_t> prompt, int32_t max_tokens) {
    Trial trial = MakeTrial(std::move(prompt), max_tokens);
    trial.request.stability = true;
    return Submit(std::move(trial));
  }

  // What observing each computed position of the answer once adds up to, in the default
  // observation.
  static HeadStability Whole(const Trial& trial) {
    HeadStability sum;
    std::vector<int32_t> tokens = trial.request.prompt;
    for (const ScoredToken& token : trial.sink->tokens()) tokens.push_back(token.id);
    tokens.pop_back();  // sampled last, never computed
    for (const int32_t token : tokens) {
      sum.Add({.queries = 1, .entropy = static_cast<double>(token)});
    }
    return sum;
  }

  static void ExpectObservedOnce(const Trial& trial) {
    const auto stability = trial.sink->finish()->stability;
    ASSERT_TRUE(stability);
    ASSERT_THAT(*stability, SizeIs(4));  // two layers of two heads
    for (const HeadStability& head : *stability) EXPECT_EQ(head, Whole(trial));
  }
};

std::vector<int32_t> Numbers(int32_t count) {
  std::vector<int32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

TEST_F(StabilityWatchTest, ARequestThatAsksIsObservedAtEveryPositionOnceThroughChunks) {
  Use({}, {.max_num_batched_tokens = 8, .max_num_seqs = 4});
  const Trial asks = SubmitObserved(Numbers(37), 9), other = Submit(Numbers(20), 12);
  RunAll();
  ExpectWhole(asks);
  ExpectObservedOnce(asks);
  EXPECT_FALSE(other.sink->finish()->stability);
  EXPECT_THAT(observer_.stability, SizeIs(0));  // no step was sampled
}

TEST_F(StabilityWatchTest, APrefixInTheCacheIsComputedAnewForARequestThatAsks) {
  Use({}, {.max_num_batched_tokens = 32, .max_num_seqs = 4});
  Submit(Numbers(30), 2);
  RunAll();
  const Trial asks = SubmitObserved(Numbers(30), 2);
  RunAll();
  EXPECT_EQ(asks.sink->finish()->cached_tokens, 0);
  ExpectObservedOnce(asks);
}

TEST_F(StabilityWatchTest, NoPositionIsCountedTwiceAfterAPreemption) {
  Use({.num_blocks = 12}, {.max_num_batched_tokens = 16, .max_num_seqs = 4});
  std::vector<Trial> trials;
  for (int i = 0; i < 3; ++i) trials.push_back(SubmitObserved(Numbers(8 + i), 20));
  RunAll();
  EXPECT_GT(observer_.preemptions, 0);
  for (const Trial& trial : trials) ExpectObservedOnce(trial);
}

TEST_F(StabilityWatchTest, ASampledStepObservesTheLastTokenOfEachSequence) {
  Use({}, {.max_num_batched_tokens = 32, .max_num_seqs = 8, .stability_sample_every = 4});
  Submit({1, 2, 3}, 10);
  Submit({4, 5}, 10);
  RunAll();
  ASSERT_EQ(observer_.steps, 10);
  ASSERT_THAT(observer_.stability, SizeIs(2));  // steps 4 and 8
  EXPECT_EQ(observer_.stability[1][0].queries, 2);
}

TEST_F(StabilityWatchTest, ManySequencesTakeTurnsInBeingSampled) {
  Use({.num_blocks = 256},
      {.max_num_batched_tokens = 256, .max_num_seqs = 20, .stability_sample_every = 1});
  std::set<int64_t> lengths;  // of the prompts that were observed: each has one of its own
  model_->observe = [&](int32_t, int32_t position, int32_t, int32_t) {
    lengths.insert(position + 1 - model_->steps());
    return HeadStability{.queries = 1};
  };
  for (int32_t i = 0; i < 20; ++i) Submit(Numbers(1 + i), 10);
  for (int i = 0; i < 3; ++i) Round();
  ASSERT_THAT(observer_.stability, SizeIs(3));
  for (const auto& heads : observer_.stability) EXPECT_EQ(heads[0].queries, 8);
  EXPECT_THAT(lengths, SizeIs(20));
  RunAll();
}

TEST_F(StabilityWatchTest, APromptObservedWholeIsNotPartOfTheSample) {
  Use({}, {.max_num_batched_tokens = 64, .max_num_seqs = 8, .stability_sample_every = 1});
  SubmitObserved(Numbers(30), 3);
  Submit({4, 5}, 3);
  RunAll();
  ASSERT_THAT(observer_.stability, SizeIs(3));
  for (const auto& heads : observer_.stability) EXPECT_LE(heads[0].queries, 2);
  EXPECT_EQ(observer_.stability[0][0].queries, 1);
  EXPECT_EQ(observer_.stability[1][0].queries, 2);
}

TEST_F(StabilityWatchTest, HowAPromptIsCutUpChangesNoBitOfItsSums) {
  const auto sums = [&](int32_t max_num_batched_tokens) {
    Use({}, {.max_num_batched_tokens = max_num_batched_tokens, .max_num_seqs = 4});
    model_->observe = [](int32_t token, int32_t position, int32_t, int32_t) {
      return HeadStability{.queries = 1, .entropy = 0.1 * token + 1e-9 * position};
    };
    Trial asks = MakeTrial(Numbers(90), 20);
    asks.request.stability = true;
    asks.request.sampling.seed = 3;
    asks = Submit(std::move(asks));
    Submit(Numbers(50), 30);
    RunAll();
    return *asks.sink->finish()->stability;
  };
  const std::vector<HeadStability> whole = sums(256);
  EXPECT_EQ(sums(7), whole);
  EXPECT_EQ(sums(32), whole);
}

class StabilityJudgementTest : public StabilityWatchTest {
 protected:
  void UseLimits(StabilityLimits limits) {
    Use({}, {.max_num_batched_tokens = 32,
             .max_num_seqs = 8,
             .stability_sample_every = 1,
             .stability_limits = limits});
    // Scores of 99 at position 12 of every sequence, in layer 1, head 0; and of 1 elsewhere.
    model_->observe = [](int32_t, int32_t position, int32_t layer, int32_t head) {
      const bool high = position == 12 && layer == 1 && head == 0;
      return HeadStability{.queries = 1, .largest_score = high ? 99.0f : 1.0f};
    };
  }
};

TEST_F(StabilityJudgementTest, APassedLimitIsToldOnceWithTheRequestsIdAndTheAnswerGoesOn) {
  UseLimits({.largest_score = 50.0});
  const Trial reaches = Submit(Numbers(10), 8), stays = Submit(Numbers(2), 8);
  RunAll();
  ExpectWhole(reaches);
  ExpectWhole(stays);
  ASSERT_THAT(observer_.unstable, SizeIs(1));
  EXPECT_EQ(observer_.unstable[0].first, reaches.request.id);
  EXPECT_EQ(observer_.unstable[0].second.layer, 1);
  EXPECT_EQ(observer_.unstable[0].second.head, 0);
  EXPECT_EQ(observer_.unstable[0].second.value, 99.0);
}

TEST_F(StabilityJudgementTest, APassedLimitMayEndThatSequenceAloneBeforeItsNextToken) {
  UseLimits({.largest_score = 50.0, .end_requests = true});
  const Trial reaches = Submit(Numbers(10), 8), stays = Submit(Numbers(2), 8);
  RunAll();
  ExpectWhole(stays);
  const RequestFinish finish = *reaches.sink->finish();
  EXPECT_EQ(finish.reason, FinishReason::kUnstable);
  EXPECT_FALSE(finish.error);
  // Positions 9, 10 and 11 gave a token each; what position 12 would have given is not told.
  EXPECT_EQ(finish.output_tokens, 3);
  EXPECT_THAT(reaches.sink->tokens(), SizeIs(3));
}

TEST_F(StabilityJudgementTest, ARequestObservedWholeIsJudgedWithoutSampling) {
  Use({}, {.max_num_batched_tokens = 32,
           .max_num_seqs = 8,
           .stability_limits = {.largest_score = 50.0}});
  model_->observe = [](int32_t, int32_t, int32_t, int32_t) {
    return HeadStability{.queries = 1, .largest_score = 51.0f};
  };
  const Trial asks = SubmitObserved({1, 2}, 3);
  Submit({1, 2}, 3);
  RunAll();
  ASSERT_THAT(observer_.unstable, SizeIs(1));
  EXPECT_EQ(observer_.unstable[0].first, asks.request.id);
}

TEST_F(StabilityJudgementTest, LowEntropyIsJudgedOnlyWhereAQuerySeesEnoughKeys) {
  Use({}, {.max_num_batched_tokens = 128,
           .max_num_seqs = 8,
           .stability_sample_every = 1,
           .stability_limits = {.entropy = 0.5}});
  model_->observe = [](int32_t, int32_t, int32_t, int32_t) {
    return HeadStability{.queries = 1, .entropy = 0.1};
  };
  Submit(Numbers(10), 50);  // ends at 60 tokens
  RunAll();
  EXPECT_THAT(observer_.unstable, SizeIs(0));
  const Trial longer = Submit(Numbers(70), 3);
  RunAll();
  ASSERT_THAT(observer_.unstable, SizeIs(1));
  EXPECT_EQ(observer_.unstable[0].first, longer.request.id);
  EXPECT_EQ(observer_.unstable[0].second.limit, StabilityLimit::kEntropy);
}

TEST_F(StabilityJudgementTest, LogitsThatAreNotFiniteAreToldAsSuch) {
  Use({}, {.max_num_batched_tokens = 32, .max_num_seqs = 8});
  model_->Poison(5);
  const Trial poisoned = Submit({4, 5}, 3), other = Submit({1, 2}, 3);
  RunAll();
  ASSERT_THAT(observer_.unstable, SizeIs(1));
  EXPECT_EQ(observer_.unstable[0].first, poisoned.request.id);
  EXPECT_EQ(observer_.unstable[0].second.limit, StabilityLimit::kNonFinite);
  ExpectWhole(other);
}

}  // namespace
}  // namespace affine
