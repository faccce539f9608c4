#include <gmock/gmock.h>

#include "tests/server/engine/engine_fixture.h"
#include "tests/support/fake_grammar.h"

namespace affine {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int32_t kEnd = 100;

class GrammarTest : public EngineFixture {
 protected:
  void UseModel(FakeModelOptions model = {}, EngineOptions options = {}) {
    model.eos_token_ids = {kEnd};
    Use(model, options);
  }
  /// One id at each step.
  static FakeGrammarOptions Exactly(std::initializer_list<int32_t> ids) {
    FakeGrammarOptions options{.steps = {}, .end_ids = {kEnd}};
    for (const int32_t id : ids) options.steps.push_back({id});
    return options;
  }
  /// `count` steps with some ids each.
  static FakeGrammarOptions Some(size_t count) {
    FakeGrammarOptions options{.steps = {}, .end_ids = {kEnd}};
    for (size_t i = 0; i < count; ++i) {
      const auto id = static_cast<int32_t>(i);
      options.steps.push_back({id % 7, 10 + id % 13, 40 + id % 3, 99});
    }
    return options;
  }
  Trial Make(std::vector<int32_t> prompt, const FakeGrammarOptions& options, int32_t max_tokens) {
    Trial trial = MakeTrial(std::move(prompt), max_tokens);
    trial.request.stop_token_ids = {kEnd};
    trial.request.grammar = FakeGrammar(options).NewMatcher();
    trial.request.grammar_field = "form";
    return trial;
  }
  static std::vector<int32_t> Tokens(const Trial& trial) { return Ids(trial.sink->tokens()); }
};

TEST_F(GrammarTest, OnlyWhatTheGrammarAllowsIsDrawnAndItsEndIsAStop) {
  UseModel();
  const Trial trial = Submit(Make({1, 2, 3}, Exactly({5, 6, 7}), 20));
  RunAll();
  EXPECT_THAT(Tokens(trial), ElementsAre(5, 6, 7));
  EXPECT_EQ(trial.sink->finish()->reason, FinishReason::kStop);
  EXPECT_FALSE(trial.sink->finish()->stop_token);
  EXPECT_EQ(trial.sink->finish()->output_tokens, 3);
}

TEST_F(GrammarTest, MaxTokensCutsItOff) {
  UseModel();
  const Trial trial = Submit(Make({1, 2, 3}, Exactly({5, 6, 7}), 2));
  RunAll();
  EXPECT_THAT(Tokens(trial), ElementsAre(5, 6));
  EXPECT_EQ(trial.sink->finish()->reason, FinishReason::kLength);
}

TEST_F(GrammarTest, TheEndMayBeDrawnWhereTheGrammarMayEndAndNowhereElse) {
  UseModel();
  FakeGrammarOptions options{.steps = {{5}, {6}, {7}}, .whole = {2}, .end_ids = {kEnd}};
  bool ended_early = false, went_on = false;
  for (int32_t i = 0; i < 40; ++i) {
    const Trial trial = Submit(Make({i}, options, 20));
    RunAll();
    const std::vector<int32_t> tokens = Tokens(trial);
    ASSERT_EQ(trial.sink->finish()->reason, FinishReason::kStop);
    if (tokens == std::vector<int32_t>{5, 6, 7}) went_on = true;
    if (tokens == std::vector<int32_t>{5, 6, kEnd}) {
      ended_early = true;
      EXPECT_EQ(trial.sink->finish()->stop_token, kEnd);
    }
  }
  EXPECT_TRUE(ended_early && went_on);
}

TEST_F(GrammarTest, WithoutEndOfTextItGoesOnWhileItCan) {
  UseModel();
  FakeGrammarOptions options{.steps = {{5}, {6}, {7}}, .whole = {1, 2}, .end_ids = {kEnd}};
  for (int32_t i = 0; i < 20; ++i) {
    Trial trial = Make({i}, options, 20);
    trial.request.stop_token_ids = {};  // ignore_eos
    trial = Submit(std::move(trial));
    RunAll();
    EXPECT_THAT(Tokens(trial), ElementsAre(5, 6, 7));
    EXPECT_EQ(trial.sink->finish()->reason, FinishReason::kStop);
  }
}

TEST_F(GrammarTest, AStopTokenOfTheRequestEndsItAnywhere) {
  UseModel();
  Trial trial = Make({1}, Exactly({5, 6, 7}), 20);
  trial.request.stop_token_ids = {6, kEnd};
  trial = Submit(std::move(trial));
  RunAll();
  EXPECT_THAT(Tokens(trial), ElementsAre(5, 6));
  EXPECT_EQ(trial.sink->finish()->stop_token, 6);
}

TEST_F(GrammarTest, OneThatAllowsNothingEndsBeforeAStep) {
  UseModel();
  const Trial whole = Submit(Make({1}, Exactly({}), 20));
  FakeGrammarOptions nothing{.steps = {{}}, .end_ids = {kEnd}};
  const Trial never = Submit(Make({1}, nothing, 20));
  RunAll();
  EXPECT_EQ(model_->steps(), 0);
  EXPECT_THAT(Tokens(whole), IsEmpty());
  EXPECT_EQ(whole.sink->finish()->reason, FinishReason::kStop);
  ASSERT_EQ(never.sink->finish()->reason, FinishReason::kError);
  EXPECT_EQ(never.sink->finish()->error->cause, ErrorCause::kBadInput);
}

TEST_F(GrammarTest, AMatcherThatGivesUpEndsItsRequestAlone) {
  UseModel();
  FakeGrammarOptions options = Exactly({5, 6, 7});
  options.fails_at = 2;
  const Trial failing = Submit(Make({1, 2}, options, 20));
  const Trial other = Submit(Make({1, 2}, Exactly({8, 9, 10, 11}), 20));
  RunAll();
  EXPECT_THAT(Tokens(failing), ElementsAre(5, 6));
  ASSERT_EQ(failing.sink->finish()->reason, FinishReason::kError);
  EXPECT_THAT(failing.sink->finish()->error->message, HasSubstr("`form` is, after 2 tokens"));
  EXPECT_THAT(Tokens(other), ElementsAre(8, 9, 10, 11));
}

TEST_F(GrammarTest, TheSameAloneAndInCompanyThroughPreemptionsAndBesideDrafts) {
  std::vector<std::vector<int32_t>> alone;
  for (int32_t i = 0; i < 6; ++i) {
    UseModel();
    Trial trial = Make({i, i + 1, i + 2}, Some(30 + i), 60);
    trial.request.sampling.seed = 17 + i;
    trial = Submit(std::move(trial));
    RunAll();
    alone.push_back(Tokens(trial));
    EXPECT_EQ(alone.back().size(), size_t(30 + i));
  }
  EngineOptions options{.max_num_batched_tokens = 16, .max_num_seqs = 8};
  options.drafts.max_tokens = 4;
  UseModel({.num_blocks = 24, .predictable_percent = 80}, options);
  std::vector<Trial> trials, others;
  for (int32_t i = 0; i < 6; ++i) {
    Trial trial = Make({i, i + 1, i + 2}, Some(30 + i), 60);
    trial.request.sampling.seed = 17 + i;
    trials.push_back(Submit(std::move(trial)));
    others.push_back(Submit({i, 1, 2, 3, 4, 5}, 40));
  }
  RunAll();
  int32_t preemptions = 0;
  for (size_t i = 0; i < trials.size(); ++i) {
    preemptions += trials[i].sink->finish()->preemptions;
    ASSERT_EQ(Tokens(trials[i]).size(), alone[i].size());
    for (size_t j = 0; j < alone[i].size(); ++j) {
      EXPECT_THAT(Some(36).steps[j], testing::Contains(Tokens(trials[i])[j]));
    }
    ExpectWhole(others[i]);
  }
  EXPECT_GT(preemptions, 0);
}

TEST_F(GrammarTest, APreemptedOneGoesOnWhereItWas) {
  std::vector<std::vector<int32_t>> answers[2];
  for (const int32_t blocks : {64, 20}) {
    UseModel({.num_blocks = blocks}, {.max_num_batched_tokens = 32, .max_num_seqs = 8});
    std::vector<Trial> trials;
    for (int32_t i = 0; i < 4; ++i) {
      Trial trial = Make({i, i + 1, i + 2}, Some(30), 60);
      trial.request.sampling.seed = 17 + i;
      trials.push_back(Submit(std::move(trial)));
    }
    RunAll();
    int32_t preemptions = 0;
    for (const Trial& trial : trials) {
      answers[blocks == 20].push_back(Tokens(trial));
      preemptions += trial.sink->finish()->preemptions;
    }
    EXPECT_EQ(preemptions > 0, blocks == 20);
  }
  EXPECT_EQ(answers[0], answers[1]);
}

TEST_F(GrammarTest, AnswersToOnePromptHaveStatesOfTheirOwn) {
  UseModel();
  std::vector<Trial> trials;
  std::vector<Request> requests;
  for (int32_t i = 0; i < 4; ++i) {
    trials.push_back(Make({1, 2, 3, 4, 5, 6}, Some(12), 20));
    trials.back().request.same_prompt = i > 0;
    requests.push_back(trials.back().request);
  }
  ASSERT_EQ(engine_->SubmitAll(std::move(requests)).index(), 0u);
  RunAll();
  for (const Trial& trial : trials) EXPECT_EQ(Tokens(trial).size(), 12u);
  EXPECT_EQ(model_->tokens_computed(), 5 + 4 * 12);
}

}  // namespace
}  // namespace affine
