#include "server/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "tests/server/engine/engine_fixture.h"

namespace affine {
namespace {

using std::chrono::milliseconds;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<int32_t> Prompt(int32_t first, int32_t n) {
  std::vector<int32_t> tokens(n);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

class EngineTest : public EngineFixture {
 protected:
  EngineTest() { Use({}, {.max_num_batched_tokens = 32, .max_num_seqs = 8}); }
};

TEST_F(EngineTest, GivesTheModelsTokens) {
  const Trial trial = Submit({1, 2, 3}, 10);
  RunAll();
  ExpectWhole(trial);
  EXPECT_EQ(trial.sink->events(), 10);
}

TEST_F(EngineTest, ManyRequestsGetWhatEachGetsAlone) {
  std::vector<Trial> trials;
  for (int32_t i = 0; i < 20; ++i) trials.push_back(Submit(Prompt(i, 1 + 3 * i), 5 + i));
  RunAll();
  for (const Trial& trial : trials) ExpectWhole(trial);
}

TEST_F(EngineTest, ObservesNoStepUnlessAsked) {
  Submit({1, 2, 3}, 10);
  RunAll();
  EXPECT_THAT(observer_.stability, SizeIs(0));
}

TEST_F(EngineTest, AStopTokenEndsTheOutputAndBelongsToIt) {
  Trial trial = MakeTrial({1, 2, 3}, 50);
  const std::vector<int32_t> all =
      Ids(model_->Continue(trial.request.prompt, trial.request.sampling, 50));
  trial.request.stop_token_ids = {all[4]};
  trial = Submit(std::move(trial));
  RunAll();
  ExpectWhole(trial);
  EXPECT_EQ(trial.sink->tokens().back().id, all[4]);
  EXPECT_EQ(trial.sink->finish()->reason, FinishReason::kStop);
  EXPECT_EQ(trial.sink->finish()->stop_token, all[4]);
}

TEST_F(EngineTest, EndsAtTheModelsLength) {
  const Trial trial = Submit(Prompt(0, 90), 1000);
  RunAll();
  ExpectWhole(trial);
  EXPECT_EQ(trial.sink->finish()->output_tokens, 256 - 90);
  EXPECT_EQ(trial.sink->finish()->reason, FinishReason::kLength);
}

TEST_F(EngineTest, APromptOfTheModelsLengthHasNoOutput) {
  Use({.vocab_size = 300}, {.max_num_batched_tokens = 32, .max_num_seqs = 8});
  const Trial trial = Submit(Prompt(0, 256), 5);
  RunAll();
  ExpectWhole(trial);
  EXPECT_EQ(trial.sink->finish()->output_tokens, 0);
}

TEST_F(EngineTest, WithoutOutputThePromptIsComputedAndScored) {
  Trial trial = MakeTrial(Prompt(0, 70), 0);
  trial.request.sampling.prompt_top_log_probs = 2;
  trial = Submit(std::move(trial));
  RunAll();
  ExpectWhole(trial);
  EXPECT_EQ(trial.sink->events(), 1);
  EXPECT_EQ(trial.sink->finish()->reason, FinishReason::kLength);
  EXPECT_EQ(model_->tokens_computed(), 70);
}

TEST_F(EngineTest, PromptScoresComeOnceWithTheFirstToken) {
  Trial trial = MakeTrial(Prompt(0, 70), 4);
  trial.request.sampling.prompt_top_log_probs = 0;
  trial.request.sampling.top_log_probs = 3;
  trial = Submit(std::move(trial));
  for (int i = 0; i < 2; ++i) Round();
  EXPECT_EQ(trial.sink->events(), 0);
  Round();
  EXPECT_THAT(trial.sink->prompt(), SizeIs(69));
  EXPECT_THAT(trial.sink->tokens(), SizeIs(1));
  RunAll();
  ExpectWhole(trial);
}

TEST_F(EngineTest, AOneTokenPromptHasNoScores) {
  Trial trial = MakeTrial({5}, 2);
  trial.request.sampling.prompt_top_log_probs = 0;
  trial = Submit(std::move(trial));
  RunAll();
  ExpectWhole(trial);
}

TEST_F(EngineTest, ASharedPrefixIsComputedOnce) {
  const Trial first = Submit(Prompt(0, 30), 2);
  RunAll();
  EXPECT_EQ(observer_.prefix_queries, 30);
  const int64_t computed = model_->tokens_computed();
  const Trial second = Submit(Prompt(0, 30), 2);
  RunAll();
  ExpectWhole(second);
  EXPECT_EQ(model_->tokens_computed() - computed, 3);  // 30 - 28 and one decode
  EXPECT_EQ(second.sink->finish()->cached_tokens, 28);
  EXPECT_EQ(observer_.prefix_queries, 60);
  EXPECT_EQ(observer_.prefix_hits, 28);
}

TEST_F(EngineTest, AnAnswerCanBePartOfTheNextPrefix) {
  const Trial first = Submit(Prompt(0, 10), 11);
  RunAll();
  std::vector<int32_t> next = Prompt(0, 10);
  for (const int32_t id : Ids(first.sink->tokens())) next.push_back(id);
  const Trial second = Submit(next, 5);
  RunAll();
  ExpectWhole(second);
  EXPECT_EQ(second.sink->finish()->cached_tokens, 20);
}

TEST_F(EngineTest, PromptScoringAndOtherSaltsTakeNothingFromTheCache) {
  Submit(Prompt(0, 30), 2);
  RunAll();
  Trial scored = MakeTrial(Prompt(0, 30), 2);
  scored.request.sampling.prompt_top_log_probs = 0;
  scored = Submit(std::move(scored));
  Trial salted = MakeTrial(Prompt(0, 30), 2);
  salted.request.cache_salt = "mine";
  salted = Submit(std::move(salted));
  RunAll();
  for (const Trial* trial : {&scored, &salted}) {
    ExpectWhole(*trial);
    EXPECT_EQ(trial->sink->finish()->cached_tokens, 0);
  }
}

TEST_F(EngineTest, PreemptionChangesNoAnswer) {
  Use({.num_blocks = 12}, {.max_num_batched_tokens = 16, .max_num_seqs = 4});
  std::vector<Trial> trials;
  for (int32_t i = 0; i < 4; ++i) trials.push_back(Submit(Prompt(10 * i, 5), 30));
  RunAll();
  int32_t preemptions = 0;
  for (const Trial& trial : trials) {
    ExpectWhole(trial);
    preemptions += trial.sink->finish()->preemptions;
  }
  EXPECT_GT(preemptions, 0);
  EXPECT_EQ(preemptions, observer_.preemptions);
  EXPECT_EQ(trials[0].sink->finish()->preemptions, 0);
}

TEST_F(EngineTest, APreemptedHalfScoredPromptIsScoredOnce) {
  Use({.num_blocks = 12}, {.max_num_batched_tokens = 4, .max_num_seqs = 3});
  const Trial first = Submit({1, 2}, 40);
  for (int i = 0; i < 2; ++i) Round();
  Trial scored = MakeTrial(Prompt(0, 34), 2);
  scored.request.sampling.prompt_top_log_probs = 1;
  scored = Submit(std::move(scored));
  RunAll();
  ExpectWhole(first);
  ExpectWhole(scored);
  EXPECT_GT(scored.sink->finish()->preemptions, 0);
}

TEST_F(EngineTest, CountsAndTimesAreTold) {
  clock_.Advance(milliseconds(5));
  Trial trial = MakeTrial(Prompt(0, 40), 3);
  clock_.Advance(milliseconds(7));
  trial = Submit(std::move(trial));
  RunAll();
  const RequestFinish finish = *trial.sink->finish();
  EXPECT_EQ(*finish.first_scheduled - finish.arrival, milliseconds(7));
  EXPECT_EQ(*finish.first_token - finish.arrival, milliseconds(8));  // after the second chunk
  EXPECT_EQ(finish.finished - finish.arrival, milliseconds(10));
  EXPECT_THAT(observer_.gaps, ElementsAre(milliseconds(1), milliseconds(1)));
  EXPECT_THAT(observer_.finished_ids, ElementsAre(trial.request.id));
  EXPECT_EQ(observer_.steps, 4);
  EXPECT_EQ(observer_.prefill_tokens, 40);
  EXPECT_EQ(observer_.decode_tokens, 2);
  EXPECT_EQ(observer_.sampled_tokens, 3);
  EXPECT_EQ(observer_.last.load.blocks_used, 0);
}

TEST_F(EngineTest, TheFirstTokenComesWithItsTimeAndTheFinishWithThatOfItsWrite) {
  const Trial written = Submit({1, 2}, 3);
  const Trial whole = Submit({3, 4}, 3);
  Round();
  const Clock::Time when = clock_.Now();
  written.sink->NoteFirstWrite(when);
  RunAll();
  for (const Trial* trial : {&written, &whole}) {
    EXPECT_THAT(trial->sink->first_tokens(), ElementsAre(*trial->sink->finish()->first_token));
  }
  EXPECT_EQ(written.sink->finish()->first_write, when);
  EXPECT_EQ(whole.sink->finish()->first_write, std::nullopt);
}

TEST_F(EngineTest, TheLoadIsVisibleWhileTheModelRuns) {
  Use({}, {.max_num_batched_tokens = 32, .max_num_seqs = 2});
  std::vector<EngineLoad> loads;
  model_->before_step = [&](const StepBatch&) { loads.push_back(engine_->load()); };
  for (int32_t i = 0; i < 3; ++i) Submit({i, i}, 2);
  EXPECT_EQ(engine_->load().waiting, 3);
  RunAll();
  ASSERT_FALSE(loads.empty());
  EXPECT_EQ(loads[0].running, 2);
  EXPECT_EQ(loads[0].waiting, 1);
  EXPECT_EQ(loads[0].blocks_used, 2);
  EXPECT_EQ(loads[0].blocks_total, 64);
}

TEST_F(EngineTest, WhatCanNeverFitIsRefused) {
  Use({.num_blocks = 4}, {.max_num_batched_tokens = 32, .max_num_seqs = 2});
  Trial trial = MakeTrial(Prompt(0, 10), 8);
  const std::optional<RequestError> error = TrySubmit(trial);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->cause, ErrorCause::kBadInput);
  EXPECT_EQ(error->param, "max_tokens");
  const Trial fits = Submit(Prompt(0, 10), 7);
  RunAll();
  ExpectWhole(fits);
  EXPECT_EQ(trial.sink->events(), 0);
}

TEST_F(EngineTest, IsFullAtItsLimitAndOpensAgain) {
  Use({}, {.max_num_batched_tokens = 32, .max_num_seqs = 1, .max_num_queued_reqs = 2});
  std::vector<Trial> trials = {Submit({1}, 3), Submit({2}, 3)};
  Trial refused = MakeTrial({3}, 3);
  const std::optional<RequestError> error = TrySubmit(refused);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->cause, ErrorCause::kFull);
  EXPECT_GE(error->retry_after_seconds, 1);
  Round();  // one runs now
  trials.push_back(Submit({3}, 3));
  RunAll();
  for (const Trial& trial : trials) ExpectWhole(trial);
}

TEST_F(EngineTest, AModelBelowTheBudgetIsNoExcuseForContradictingOptions) {
  EXPECT_THROW(Engine(*model_, {.max_num_batched_tokens = 2, .max_num_seqs = 3}, clock_, observer_),
               std::invalid_argument);
  EXPECT_THROW(Engine(*model_, {.max_num_queued_reqs = 0}, clock_, observer_),
               std::invalid_argument);
}

}  // namespace
}  // namespace affine
