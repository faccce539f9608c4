#include "server/request/grammar_wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/request/byte_tokenizer.h"
#include "tests/server/request/call_answer.h"
#include "tests/server/request/scripted_engine.h"
#include "tests/support/fake_grammar.h"

namespace affine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Knows what a test says, and keeps who waits.
class ScriptedGrammars final : public GrammarSource {
 public:
  std::optional<GrammarResult> Get(const StructuredOutput& form,
                                   std::function<void(GrammarResult)> done) override {
    asked.push_back(form);
    if (!known) waiting.push_back(std::move(done));
    return known;
  }
  std::optional<GrammarResult> known;
  std::vector<StructuredOutput> asked;
  std::vector<std::function<void(GrammarResult)>> waiting;
};

class GrammarWaitTest : public testing::Test {
 protected:
  GrammarWaitTest() {
    models_.Add({"tiny", &engine_, &tokenizer_, 0, nullptr, &grammars_});
    params_.prompt = "say";
    params_.structured_output = {StructuredOutput::Kind::kRegex, "a+", {}, "form"};
  }
  std::variant<std::shared_ptr<CompletionCall>, RequestError> TryStart() {
    return StartCompletion(params_, models_, [this] { ++told_; });
  }
  std::shared_ptr<CompletionCall> Start() {
    return std::get<std::shared_ptr<CompletionCall>>(TryStart());
  }
  static GrammarResult Grammar() {
    return std::make_shared<FakeGrammar>(FakeGrammarOptions{.steps = {{1}}});
  }
  static RequestError Error() { return {ErrorCause::kBadInput, "no such form", "form"}; }

  ByteTokenizer tokenizer_;
  ScriptedEngine engine_{SmallModelInfo(tokenizer_)};
  ScriptedGrammars grammars_;
  ServedModels models_{{"tiny"}};
  CompletionParams params_;
  std::atomic<int> told_ = 0;
};

TEST_F(GrammarWaitTest, AKnownGrammarIsSubmittedAtOnce) {
  grammars_.known = Grammar();
  auto call = Start();
  ASSERT_EQ(engine_.submitted(), 1u);
  EXPECT_NE(engine_.AwaitRequest(1).grammar, nullptr);
  EXPECT_EQ(engine_.AwaitRequest(1).grammar_field, "form");
  ASSERT_EQ(grammars_.asked.size(), 1u);
  EXPECT_EQ(grammars_.asked[0].text, "a+");
}

TEST_F(GrammarWaitTest, WithoutAFormThereIsNoGrammar) {
  params_.structured_output.reset();
  auto call = Start();
  EXPECT_EQ(engine_.AwaitRequest(1).grammar, nullptr);
  EXPECT_TRUE(grammars_.asked.empty());
}

TEST_F(GrammarWaitTest, WhatIsKnownToHaveNoneIsRefusedAtOnce) {
  grammars_.known = Error();
  auto refused = std::get<RequestError>(TryStart());
  EXPECT_EQ(refused.message, "no such form");
  EXPECT_EQ(refused.model_name, "tiny");
  EXPECT_EQ(engine_.submitted(), 0u);
}

TEST_F(GrammarWaitTest, AModelWithoutGrammarsRefusesForms) {
  ServedModels models({"plain"});
  models.Add({"plain", &engine_, &tokenizer_, 0});
  auto refused = std::get<RequestError>(StartCompletion(params_, models, [] {}));
  EXPECT_EQ(refused.cause, ErrorCause::kBadInput);
  EXPECT_EQ(refused.param, "form");
}

TEST_F(GrammarWaitTest, TheCallWaitsForItsGrammarAndThenGoesOnAsAny) {
  params_.n = 2;
  auto call = Start();
  EXPECT_EQ(call->num_answers(), 2);
  EXPECT_EQ(call->model_name(), "tiny");
  EXPECT_THAT(call->prompt_of(1), ElementsAre('s', 'a', 'y'));
  EXPECT_FALSE(call->Next());
  EXPECT_EQ(engine_.submitted(), 0u);
  grammars_.waiting.at(0)(Grammar());
  EXPECT_EQ(told_, 1);
  EXPECT_FALSE(call->Next());
  ASSERT_EQ(engine_.submitted(), 2u);
  EXPECT_EQ(engine_.AwaitRequest(1).id, call->request_id());
  EXPECT_NE(engine_.AwaitRequest(1).grammar, engine_.AwaitRequest(2).grammar);
  for (const RequestHandle handle : {1, 2}) {
    engine_.Emit(handle, tokenizer_.Encode("hey", false));
    engine_.Finish(handle, FinishReason::kStop);
  }
  std::string texts[2];
  bool ended = false;
  while (auto chunk = call->Next()) {
    texts[chunk->answer] += chunk->text;
    ended = chunk->total.has_value();
  }
  EXPECT_TRUE(ended);
  EXPECT_THAT(texts, ElementsAre("hey", "hey"));
}

TEST_F(GrammarWaitTest, AGrammarThatCannotBeHadIsTheEnd) {
  auto call = Start();
  grammars_.waiting.at(0)(Error());
  auto chunk = call->Next();
  ASSERT_TRUE(chunk && chunk->end && chunk->end->error && chunk->total);
  EXPECT_EQ(chunk->end->error->message, "no such form");
  EXPECT_EQ(chunk->end->error->model_name, "tiny");
  EXPECT_TRUE(chunk->end->refused);
  EXPECT_FALSE(call->Next());
  EXPECT_EQ(engine_.submitted(), 0u);
}

TEST_F(GrammarWaitTest, WhatTheEngineRefusesIsTheEnd) {
  auto call = Start();
  engine_.RefuseWith({ErrorCause::kFull, "full", ""});
  grammars_.waiting.at(0)(Grammar());
  auto chunk = call->Next();
  ASSERT_TRUE(chunk && chunk->end && chunk->end->error);
  EXPECT_EQ(chunk->end->error->cause, ErrorCause::kFull);
  EXPECT_TRUE(chunk->end->refused);
}

TEST_F(GrammarWaitTest, AGrammarThatThrowsIsTheEnd) {
  class Throwing final : public OutputGrammar {
   public:
    std::unique_ptr<GrammarMatcher> NewMatcher() const override {
      throw std::runtime_error("out of order");
    }
    size_t bytes() const override { return 0; }
  };
  auto call = Start();
  grammars_.waiting.at(0)(std::make_shared<Throwing>());
  auto chunk = call->Next();
  ASSERT_TRUE(chunk && chunk->end && chunk->end->error);
  EXPECT_EQ(chunk->end->error->cause, ErrorCause::kInternal);
  EXPECT_THAT(chunk->end->error->message, HasSubstr("out of order"));
  EXPECT_EQ(engine_.submitted(), 0u);
}

TEST_F(GrammarWaitTest, ACancelledWaitEndsAndItsGrammarComesTooLate) {
  auto call = Start();
  call->Cancel({ErrorCause::kCancelled, "gone", ""});
  EXPECT_EQ(told_, 1);
  grammars_.waiting.at(0)(Grammar());
  EXPECT_EQ(told_, 1);
  auto chunk = call->Next();
  ASSERT_TRUE(chunk && chunk->end && chunk->end->error);
  EXPECT_EQ(chunk->end->error->cause, ErrorCause::kCancelled);
  EXPECT_EQ(engine_.submitted(), 0u);
}

TEST_F(GrammarWaitTest, ACancelOfARunningCallIsPassedOn) {
  auto call = Start();
  grammars_.waiting.at(0)(Grammar());
  EXPECT_FALSE(call->Next());
  call->Cancel({ErrorCause::kCancelled, "gone", ""});
  EXPECT_EQ(engine_.AwaitCancel(1).first, 1u);
}

TEST_F(GrammarWaitTest, ADroppedCallIsNotTold) {
  auto call = Start();
  call.reset();
  grammars_.waiting.at(0)(Grammar());
  EXPECT_EQ(told_, 0);
  EXPECT_EQ(engine_.submitted(), 0u);
}

TEST_F(GrammarWaitTest, AFormAndAllowedIdsTogetherAreRefused) {
  params_.allowed_token_ids = {1};
  auto refused = std::get<RequestError>(TryStart());
  EXPECT_EQ(refused.param, "allowed_token_ids");
  EXPECT_THAT(refused.message, HasSubstr("`form`"));
  EXPECT_TRUE(grammars_.asked.empty());
}

}  // namespace
}  // namespace affine
