#include <random>

#include "tests/server/engine/engine_fixture.h"

namespace affine {
namespace {

/// Several requests of one prompt, submitted together.
class SeveralAnswersTest : public EngineFixture {
 protected:
  std::vector<Trial> MakeAnswers(const std::vector<int32_t>& prompt, int32_t count,
                                 int32_t max_tokens) {
    std::vector<Trial> trials;
    for (int32_t i = 0; i < count; ++i) {
      trials.push_back(MakeTrial(prompt, max_tokens));
      trials.back().request.same_prompt = i > 0;
    }
    return trials;
  }
  void SubmitAll(std::vector<Trial>& trials) {
    std::vector<Request> requests;
    for (const Trial& trial : trials) requests.push_back(trial.request);
    auto taken = engine_->SubmitAll(std::move(requests));
    ASSERT_TRUE(std::holds_alternative<std::vector<RequestHandle>>(taken));
    for (size_t i = 0; i < trials.size(); ++i) {
      trials[i].handle = std::get<std::vector<RequestHandle>>(taken)[i];
    }
  }
  std::vector<Trial> SubmitAnswers(const std::vector<int32_t>& prompt, int32_t count,
                                   int32_t max_tokens) {
    std::vector<Trial> trials = MakeAnswers(prompt, count, max_tokens);
    SubmitAll(trials);
    return trials;
  }
  static std::vector<int32_t> Counting(int32_t length) {
    std::vector<int32_t> prompt(length);
    for (int32_t i = 0; i < length; ++i) prompt[i] = (7 * i + 3) % 101;
    return prompt;
  }
};

TEST_F(SeveralAnswersTest, ThePromptIsComputedOnceWithAndWithoutPrefixCache) {
  for (const bool caching : {true, false}) {
    for (const int32_t length : {2, 3, 4, 5, 8, 9, 30}) {  // blocks hold 4
      Use({}, {.enable_prefix_caching = caching});
      const std::vector<Trial> trials = SubmitAnswers(Counting(length), 8, 3);
      RunAll();
      for (const Trial& trial : trials) ExpectWhole(trial);
      // Of the prompt all but the last token once; then that token and two of the output for each.
      EXPECT_EQ(model_->tokens_computed(), length - 1 + 8 * 3) << length;
    }
  }
}

TEST_F(SeveralAnswersTest, AnswersOfOneTokenShareThePromptAsWell) {
  Use({}, {.enable_prefix_caching = false});
  const std::vector<Trial> trials = SubmitAnswers(Counting(30), 8, 1);
  RunAll();
  for (const Trial& trial : trials) ExpectWhole(trial);
  EXPECT_EQ(model_->tokens_computed(), 29 + 8);
}

TEST_F(SeveralAnswersTest, APromptOfOneTokenIsItsOwnLastToken) {
  Use({}, {});
  const std::vector<Trial> trials = SubmitAnswers({5}, 4, 6);
  RunAll();
  for (const Trial& trial : trials) ExpectWhole(trial);
}

TEST_F(SeveralAnswersTest, ThoseThatFindNoPlaceAtFirstForkLater) {
  Use({}, {.max_num_batched_tokens = 64, .max_num_seqs = 3, .enable_prefix_caching = false});
  const std::vector<Trial> trials = SubmitAnswers(Counting(22), 3, 20);
  for (int i = 0; i < 4; ++i) Round();
  EXPECT_EQ(engine_->load().running, 3);
  RunAll();
  for (const Trial& trial : trials) ExpectWhole(trial);
  // One slot is taken for long: the second answer waits, and forks while the first goes on.
  Use({}, {.max_num_batched_tokens = 64, .max_num_seqs = 2, .enable_prefix_caching = false});
  const Trial other = Submit({1, 2, 3}, 12);
  Round();
  const std::vector<Trial> two = SubmitAnswers(Counting(22), 2, 30);
  RunAll();
  ExpectWhole(other);
  for (const Trial& trial : two) ExpectWhole(trial);
  EXPECT_EQ(model_->tokens_computed(), 3 + 11 + 21 + 2 * 30);
}

TEST_F(SeveralAnswersTest, ThePromptsScoresComeWithTheFirstAlone) {
  Use({}, {});
  std::vector<Trial> trials = MakeAnswers(Counting(21), 3, 2);
  trials[0].request.sampling.prompt_top_log_probs = 2;
  SubmitAll(trials);
  RunAll();
  for (const Trial& trial : trials) ExpectWhole(trial);
  EXPECT_EQ(model_->tokens_computed(), 20 + 3 * 2);
}

TEST_F(SeveralAnswersTest, WithStabilityEachComputesAndMeasuresItsOwnPrompt) {
  Use({}, {});
  std::vector<Trial> trials = MakeAnswers(Counting(21), 2, 2);
  for (Trial& trial : trials) trial.request.stability = true;
  SubmitAll(trials);
  RunAll();
  for (const Trial& trial : trials) {
    ExpectWhole(trial);
    EXPECT_EQ(trial.sink->finish()->stability->front().queries, 22);
  }
}

TEST_F(SeveralAnswersTest, WhenTheFirstIsCancelledTheNextComputesThePrompt) {
  Use({}, {.max_num_batched_tokens = 8, .max_num_seqs = 4, .enable_prefix_caching = false});
  const std::vector<Trial> trials = SubmitAnswers(Counting(40), 3, 5);
  Round();
  Round();
  engine_->Cancel(trials[0].handle, Cancelled());
  RunAll();
  EXPECT_TRUE(trials[0].sink->finish()->error);
  ExpectWhole(trials[1]);
  ExpectWhole(trials[2]);
}

TEST_F(SeveralAnswersTest, TheQueueTakesAllOrNone) {
  Use({}, {.max_num_seqs = 1, .max_num_queued_reqs = 4});
  const std::vector<Trial> trials = SubmitAnswers({1, 2}, 3, 5);
  std::vector<Request> more;
  for (const Trial& trial : MakeAnswers({3, 4}, 2, 5)) more.push_back(trial.request);
  auto refused = engine_->SubmitAll(std::move(more));
  ASSERT_TRUE(std::holds_alternative<RequestError>(refused));
  EXPECT_EQ(std::get<RequestError>(refused).cause, ErrorCause::kFull);
  EXPECT_EQ(engine_->load().waiting, 3);
  RunAll();
  for (const Trial& trial : trials) ExpectWhole(trial);
}

TEST_F(SeveralAnswersTest, RandomGroupsInASmallCacheGetTheAnswersOfRequestsAlone) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % n); };
    Use({.num_blocks = 24, .max_model_len = 64, .predictable_percent = 70},
        {.max_num_batched_tokens = 8 + below(40),
         .max_num_seqs = 2 + below(6),
         .enable_prefix_caching = below(2) == 0,
         .drafts = {.max_tokens = below(2) * 4}});
    std::vector<Trial> trials, cancelled;
    for (int group = 0; group < 6; ++group) {
      std::vector<Trial> answers = MakeAnswers(Counting(1 + below(40)), 1 + below(5), below(22));
      const int32_t priority = below(3);
      const bool scores = below(3) == 0;
      for (Trial& trial : answers) trial.request.priority = priority;
      if (scores) answers[0].request.sampling.prompt_top_log_probs = 1;
      if (below(3) == 0) answers.back().request.stop_token_ids = {1, 3, 5};
      SubmitAll(answers);
      for (int i = below(6); i > 0; --i) Round();
      for (Trial& trial : answers) {
        const bool cancel = below(8) == 0;
        if (cancel) engine_->Cancel(trial.handle, Cancelled());
        (cancel ? cancelled : trials).push_back(trial);
      }
    }
    RunAll();
    for (const Trial& trial : trials) ExpectWhole(trial);
    for (const Trial& trial : cancelled) EXPECT_EQ(trial.sink->finishes(), 1);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace affine
