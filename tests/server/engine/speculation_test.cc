#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "tests/server/engine/engine_fixture.h"

namespace affine {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::Each;
using testing::Ge;

// A model that says 0 to 6 over and over, if its percentage is 100.
class SpeculationTest : public EngineFixture {
 protected:
  static EngineOptions Options(int32_t max_drafts) {
    EngineOptions options;
    options.max_num_batched_tokens = 64;
    options.max_num_seqs = 4;
    options.drafts.max_tokens = max_drafts;
    return options;
  }
  void UseDrafts(int32_t max_drafts, int32_t predictable_percent = 100) {
    FakeModelOptions model;
    model.predictable_percent = predictable_percent;
    Use(model, Options(max_drafts));
  }
};

TEST_F(SpeculationTest, TheSameAnswerComesInFewerSteps) {
  const auto steps = [this](int32_t max_drafts) {
    UseDrafts(max_drafts);
    Trial trial = MakeTrial({3, 1, 4}, 60);
    trial.request.sampling.top_log_probs = 2;
    trial = Submit(std::move(trial));
    RunAll();
    ExpectWhole(trial);
    return model_->steps();
  };
  const int64_t alone = steps(0);
  EXPECT_EQ(alone, 60);
  EXPECT_EQ(observer_.draft_tokens, 0);
  EXPECT_LT(steps(6), alone / 2);
  EXPECT_GT(observer_.accepted_drafts, 30);
  EXPECT_LE(observer_.accepted_drafts, observer_.draft_tokens);
}

TEST_F(SpeculationTest, DraftsAreMadeWhereSamplingReadsTokensToo) {
  UseDrafts(6);
  Trial trial = MakeTrial({0, 1, 2, 3, 4, 5, 6, 0, 1}, 60);
  trial.request.sampling.frequency_penalty = 0.5f;
  trial.request.sampling.min_tokens = 3;
  trial = Submit(std::move(trial));
  int32_t checked = 0;
  model_->before_step = [&](const StepBatch& batch) {
    for (const SequenceSlice& slice : batch.slices) {
      EXPECT_EQ(static_cast<int32_t>(slice.before.size()), slice.start);
      EXPECT_EQ(slice.prompt_length, 9);
      checked += slice.samples > 1;
    }
  };
  RunAll();
  ExpectWhole(trial);
  EXPECT_GT(checked, 3);
  EXPECT_GT(observer_.accepted_drafts, 20);
}

TEST_F(SpeculationTest, NothingAfterAStopTokenIsToldOrCounted) {
  UseDrafts(8);
  for (int32_t stop = 0; stop < 7; ++stop) {
    Trial trial = MakeTrial({0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, stop}, 40);
    trial.request.stop_token_ids = {stop};
    trial = Submit(std::move(trial));
    RunAll();
    ExpectWhole(trial);
    EXPECT_EQ(trial.sink->tokens().size(), 7u);
    EXPECT_EQ(trial.sink->finish()->stop_token, stop);
  }
  EXPECT_EQ(observer_.sampled_tokens, 49);
  EXPECT_GT(observer_.accepted_drafts, 14);
}

TEST_F(SpeculationTest, ALimitOfTokensIsReachedExactly) {
  UseDrafts(8);
  for (int32_t max_tokens = 1; max_tokens < 30; ++max_tokens) {
    const Trial trial = Submit({0, 1, 2, 3, 4, 5, 6, 0, 1, 2}, max_tokens);
    RunAll();
    ExpectWhole(trial);
    EXPECT_EQ(trial.sink->finish()->output_tokens, max_tokens);
  }
}

TEST_F(SpeculationTest, TokensOfOneStepShareItsTimeAndCountOneByOne) {
  UseDrafts(6);
  const Trial trial = Submit({0}, 40);  // only from the second round on there is what to guess
  RunAll();
  EXPECT_EQ(observer_.gaps.size(), 39u);
  Clock::Duration sum{};
  for (const Clock::Duration gap : observer_.gaps) sum += gap;
  const RequestFinish finish = *trial.sink->finish();
  EXPECT_EQ(sum, finish.finished - *finish.first_token);
  EXPECT_THAT(observer_.gaps, Contains(milliseconds(1)));               // one token
  EXPECT_THAT(observer_.gaps, Contains(testing::Lt(milliseconds(1))));  // several
  EXPECT_THAT(observer_.gaps, Each(Ge(Clock::Duration(milliseconds(1)) / 7)));
  EXPECT_EQ(trial.sink->first_tokens().size(), 1u);
}

TEST_F(SpeculationTest, AStepReportsItsDrafts) {
  UseDrafts(6);
  Submit({0, 1, 2, 3, 4, 5, 6, 0, 1}, 40);
  Round();
  while (observer_.last.draft_tokens == 0) ASSERT_TRUE(Round());
  EXPECT_EQ(observer_.last.drafted_sequences, 1);
  EXPECT_EQ(observer_.last.decode_tokens, 1);
  EXPECT_EQ(observer_.last.sampled_sequences, 1);
  EXPECT_EQ(observer_.last.accepted_drafts, observer_.last.draft_tokens);
  EXPECT_EQ(observer_.last.sampled_tokens, observer_.last.draft_tokens + 1);
}

// The guess after 5 6 is 99, which does not come.
TEST_F(SpeculationTest, ADraftThatIsNotFiniteChangesNothingIfItDoesNotComeTrue) {
  UseDrafts(6);
  const Trial trial = Submit({5, 6, 99, 1, 2, 3, 4, 5}, 30);
  Round();
  model_->Poison(99);
  RunAll();
  ExpectWhole(trial);
  EXPECT_EQ(trial.sink->finish()->preemptions, 1);
  EXPECT_EQ(observer_.preemptions, 1);
  EXPECT_TRUE(observer_.unstable.empty());
}

TEST_F(SpeculationTest, ATokenThatIsNotFiniteEndsTheRequestWhereItWouldHaveWithoutDrafts) {
  const auto run = [this](int32_t max_drafts) {
    UseDrafts(max_drafts);
    Trial trial = Submit({0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4}, 40);
    while (trial.sink->tokens().size() < 12) Round();
    while (trial.sink->tokens().size() % 7 != 0) Round();  // the next one is 5
    model_->Poison(6);
    RunAll();
    return trial;
  };
  const Trial plain = run(0);
  const Trial drafted = run(1);
  const RequestError expected = plain.sink->finish()->error.value();
  EXPECT_EQ(expected.cause, ErrorCause::kNonFinite);
  EXPECT_EQ(plain.sink->tokens().back().id, 6);
  const RequestError error = drafted.sink->finish()->error.value();
  EXPECT_EQ(error.cause, expected.cause);
  const std::vector<int32_t> tokens = Ids(drafted.sink->tokens());
  EXPECT_EQ(tokens.back(), 6);
  EXPECT_EQ(error.message, "the model's logits were not finite after token " +
                               std::to_string(12 + tokens.size()) + " of this sequence");
  EXPECT_EQ(observer_.unstable.size(), 2u);
}

TEST_F(SpeculationTest, OfARequestThatAsksEveryPositionIsObservedOnce) {
  UseDrafts(6);
  Trial trial = MakeTrial({0, 1, 2, 3, 4, 5, 6, 0, 1}, 40);
  trial.request.stability = true;
  trial = Submit(std::move(trial));
  const Trial other = Submit({0, 1, 2, 3, 4, 5, 6, 0, 1}, 40);
  RunAll();
  ExpectWhole(trial);
  ExpectWhole(other);
  EXPECT_GT(observer_.accepted_drafts, 10);
  ASSERT_TRUE(trial.sink->finish()->stability);
  double sum = 0.0;
  for (const int32_t token : trial.request.prompt) sum += token;
  const std::vector<int32_t> output = Ids(trial.sink->tokens());
  for (size_t i = 0; i + 1 < output.size(); ++i) sum += output[i];
  for (const HeadStability& head : *trial.sink->finish()->stability) {
    EXPECT_EQ(head.queries, 9 + 39);
    EXPECT_EQ(head.entropy, sum);  // the fake's entropy is the token
  }
}

TEST_F(SpeculationTest, ASampledStepObservesTokensThatCameAndNoDrafts) {
  FakeModelOptions model;
  model.predictable_percent = 100;
  EngineOptions options = Options(6);
  options.stability_sample_every = 3;
  Use(model, options);
  bool drafted = false, observed_drafts = false;
  model_->before_step = [&](const StepBatch& batch) {
    for (const SequenceSlice& slice : batch.slices) {
      drafted |= slice.samples > 1;
      observed_drafts |= slice.samples > 1 && slice.stability != nullptr;
    }
  };
  const Trial trial = Submit({0, 1, 2, 3, 4, 5, 6, 0, 1}, 60);
  RunAll();
  ExpectWhole(trial);
  EXPECT_TRUE(drafted);
  EXPECT_FALSE(observed_drafts);
  EXPECT_GT(observer_.stability.size(), 3u);
  for (const auto& heads : observer_.stability) EXPECT_EQ(heads[0].queries, 1);
}

TEST_F(SpeculationTest, ARowThatCostsAWholeStepIsNotSpentOnGuesses) {
  const auto drafts_at = [this](Clock::Duration fixed, Clock::Duration each) {
    UseDrafts(6, 85);
    observer_ = {};
    model_->before_step = [this, fixed, each](const StepBatch& batch) {
      for (const SequenceSlice& slice : batch.slices) {
        clock_.Advance(each * static_cast<int64_t>(slice.tokens.size()));
      }
      clock_.Advance(fixed);
    };
    std::vector<Trial> trials;
    for (int i = 0; i < 4; ++i) trials.push_back(Submit({0, 1, 2, 3, 4, 5, 6, 0, i}, 240));
    RunAll();
    for (const Trial& trial : trials) ExpectWhole(trial);
    return observer_.draft_tokens;
  };
  const int64_t cheap = drafts_at(milliseconds(20), std::chrono::microseconds(1));
  const int64_t dear = drafts_at(std::chrono::microseconds(1), milliseconds(20));
  EXPECT_GT(cheap, 100);
  EXPECT_LT(dear, cheap / 2);
}

}  // namespace
}  // namespace affine
