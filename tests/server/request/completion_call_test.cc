#include "server/request/completion_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/request/byte_tokenizer.h"
#include "tests/server/request/call_answer.h"
#include "tests/server/request/observed_heads.h"
#include "tests/server/request/scripted_engine.h"

namespace affine {
namespace {

using ::testing::ElementsAre;

class CompletionCallTest : public ::testing::Test {
 protected:
  CompletionCallTest() {
    models_.Add({"tiny", &engine_, &tokenizer_, 0});
    params_.prompt = "say";
  }
  std::shared_ptr<CompletionCall> Start() {
    auto result = StartCompletion(params_, models_, [this] { ++told_; });
    if (auto* error = std::get_if<RequestError>(&result)) ADD_FAILURE() << error->message;
    return std::get<std::shared_ptr<CompletionCall>>(std::move(result));
  }
  RequestError Refused() {
    return std::get<RequestError>(StartCompletion(params_, models_, [this] { ++told_; }));
  }
  std::vector<int32_t> Ids(std::string_view text) { return tokenizer_.Encode(text, false); }
  static RequestFinish Observed(FinishReason reason) {
    RequestFinish finish;
    finish.reason = reason;
    finish.stability = std::make_shared<std::vector<HeadStability>>(ObservedHeads());
    return finish;
  }

  ByteTokenizer tokenizer_;
  ScriptedEngine engine_{SmallModelInfo(tokenizer_)};
  ServedModels models_{{"tiny"}};
  CompletionParams params_;
  std::atomic<int> told_ = 0;
};

TEST_F(CompletionCallTest, TokensBecomeTextAndTheEndBringsExactCounts) {
  auto call = Start();
  EXPECT_FALSE(call->Next());
  engine_.Emit(1, Ids("he"));
  EXPECT_EQ(told_, 1);
  Answer answer;
  Read(*call, answer);
  EXPECT_EQ(answer.text, "he");
  engine_.Emit(1, Ids("y"));
  RequestFinish finish;
  finish.reason = FinishReason::kLength;
  finish.cached_tokens = 2;
  engine_.Finish(1, finish);
  Read(*call, answer);
  EXPECT_EQ(answer.text, "hey");
  EXPECT_THAT(answer.token_ids, ElementsAre('h', 'e', 'y'));
  ASSERT_TRUE(answer.end);
  EXPECT_EQ(answer.end->reason, FinishReason::kLength);
  EXPECT_FALSE(answer.end->error);
  EXPECT_EQ(answer.end->usage.prompt_tokens, 3);
  EXPECT_EQ(answer.end->usage.cached_tokens, 2);
  EXPECT_EQ(answer.end->usage.output_tokens, 3);
  call.reset();
  EXPECT_EQ(engine_.cancels(), 0u);
}

TEST_F(CompletionCallTest, TheCallKnowsItsRequestAndItsModel) {
  params_.request_id = "mine";
  auto call = Start();
  EXPECT_EQ(call->request_id(), "mine");
  EXPECT_EQ(call->model_name(), "tiny");
  EXPECT_THAT(call->prompt_token_ids(), ElementsAre('s', 'a', 'y'));
  EXPECT_EQ(&call->tokenizer(), &tokenizer_);
}

TEST_F(CompletionCallTest, AStopStringAcrossTokensEndsTheAnswerAndCancelsTheRequest) {
  engine_.HoldCancels();
  params_.stop = {"END"};
  params_.logprobs = 0;
  auto call = Start();
  Answer answer;
  engine_.Emit(1, Ids("aE"));
  Read(*call, answer);
  EXPECT_EQ(answer.text, "a");
  engine_.Emit(1, Ids("NDzz"));
  Read(*call, answer);
  EXPECT_EQ(answer.text, "a");
  EXPECT_EQ(engine_.AwaitCancel(1).first, 1u);
  EXPECT_FALSE(answer.end) << "the counts come with the engine's finish";
  engine_.Emit(1, Ids("y"));  // a step that was under way
  RequestFinish finish;
  EXPECT_FALSE(engine_.AwaitCancel(1).second) << "an error is no part of a stop";
  finish.reason = FinishReason::kStop;
  finish.cached_tokens = 1;
  finish.output_tokens = 7;
  engine_.Finish(1, finish);
  Read(*call, answer);
  EXPECT_EQ(answer.text, "a");
  EXPECT_THAT(answer.token_ids, ElementsAre('a', 'E', 'N', 'D'));
  EXPECT_EQ(answer.logprobs.size(), 4u);
  ASSERT_TRUE(answer.end);
  EXPECT_EQ(answer.end->reason, FinishReason::kStop);
  EXPECT_FALSE(answer.end->error);
  EXPECT_EQ(answer.end->usage.output_tokens, 4);
  EXPECT_EQ(answer.end->usage.cached_tokens, 1);
  call.reset();
  EXPECT_EQ(engine_.cancels(), 1u);
}

TEST_F(CompletionCallTest, AStopStringInTheLastTokensTurnsLengthIntoStop) {
  params_.stop = {"END"};
  auto call = Start();
  TokenEvent event;
  for (const int32_t id : Ids("xEND")) event.tokens.push_back(ScriptedEngine::Scored(id));
  event.finish = RequestFinish{};
  event.finish->reason = FinishReason::kLength;
  engine_.Push(1, event);
  Answer answer;
  Read(*call, answer);
  EXPECT_EQ(answer.text, "x");
  ASSERT_TRUE(answer.end);
  EXPECT_EQ(answer.end->reason, FinishReason::kStop);
}

TEST_F(CompletionCallTest, TheStartOfAStopStringThatNeverCameIsGivenOutAtTheEnd) {
  params_.stop = {"END"};
  auto call = Start();
  engine_.Emit(1, Ids("xEN"));
  engine_.Finish(1, FinishReason::kLength);
  Answer answer;
  Read(*call, answer);
  EXPECT_EQ(answer.text, "xEN");
  EXPECT_EQ(answer.end->reason, FinishReason::kLength);
}

TEST_F(CompletionCallTest, AStopTokenCountsButItsTextIsNotPartOfTheAnswer) {
  params_.stop_token_ids = {'!'};
  params_.skip_special_tokens = false;
  for (const int32_t stop : {static_cast<int32_t>('!'), tokenizer_.vocab_size() - 1}) {
    auto call = Start();
    const RequestHandle handle = engine_.submitted();
    engine_.Emit(handle, {'a', stop});
    RequestFinish finish;
    finish.stop_token = stop;
    engine_.Finish(handle, finish);
    Answer answer;
    Read(*call, answer);
    EXPECT_EQ(answer.text, "a");
    EXPECT_THAT(answer.token_ids, ElementsAre('a', stop));
    EXPECT_EQ(answer.end->usage.output_tokens, 2);
    EXPECT_EQ(answer.end->reason, FinishReason::kStop);
  }
}

TEST_F(CompletionCallTest, WhatEndedTheAnswerIsPartOfTheTextIfAskedFor) {
  params_.stop = {"END"};
  params_.stop_token_ids = {'!'};
  params_.include_stop_str_in_output = true;
  auto by_string = Start();
  Answer answer;
  engine_.Emit(1, Ids("aENDzz"));
  Read(*by_string, answer);
  EXPECT_EQ(answer.text, "aEND");
  EXPECT_EQ(answer.token_ids.size(), 4u);
  auto by_token = Start();
  Answer other;
  engine_.Emit(2, Ids("a!"));
  RequestFinish finish;
  finish.reason = FinishReason::kStop;
  finish.stop_token = '!';
  engine_.Finish(2, finish);
  Read(*by_token, other);
  EXPECT_EQ(other.text, "a!");
  EXPECT_EQ(other.end->reason, FinishReason::kStop);
}

TEST_F(CompletionCallTest, AnEndOfTextTokenThatIsIncludedIsStillSpecial) {
  params_.include_stop_str_in_output = true;
  for (const bool skip : {true, false}) {
    params_.skip_special_tokens = skip;
    auto call = Start();
    const RequestHandle handle = skip ? 1 : 2;
    Answer answer;
    engine_.Emit(handle, {'a', 257});
    RequestFinish finish;
    finish.stop_token = 257;
    engine_.Finish(handle, finish);
    Read(*call, answer);
    EXPECT_EQ(answer.text, skip ? "a" : "a<eos>");
  }
}

TEST_F(CompletionCallTest, AStopStringWithinTheLeastTokensPasses) {
  params_.stop = {"b"};
  params_.min_tokens = 2;
  auto call = Start();
  Answer answer;
  engine_.Emit(1, Ids("abab"));
  Read(*call, answer);
  EXPECT_EQ(answer.text, "aba");
  EXPECT_EQ(answer.token_ids.size(), 4u);
}

TEST_F(CompletionCallTest, WithIgnoreEosAnEndOfTextTokenIsTextLikeAnyOther) {
  params_.ignore_eos = true;
  params_.skip_special_tokens = false;
  auto call = Start();
  engine_.Emit(1, {'a', tokenizer_.vocab_size() - 1, 'b'});
  engine_.Finish(1, FinishReason::kLength);
  Answer answer;
  Read(*call, answer);
  EXPECT_EQ(answer.text, "a<eos>b");
}

TEST_F(CompletionCallTest, EchoPutsThePromptBeforeTheAnswerAndOutsideOfTheStopStrings) {
  params_.echo = true;
  params_.logprobs = 0;
  params_.stop = {"sayx", "say"};
  auto call = Start();
  TokenEvent event;
  event.prompt = {ScriptedEngine::Scored('a'), ScriptedEngine::Scored('y')};
  engine_.Push(1, event);
  engine_.Emit(1, Ids("xy"));
  engine_.Finish(1, FinishReason::kLength);
  Answer answer;
  Read(*call, answer);
  EXPECT_EQ(answer.text, "sayxy");
  EXPECT_EQ(answer.prompt_logprobs.size(), 2u);
  EXPECT_EQ(answer.logprobs.size(), 2u);
}

TEST_F(CompletionCallTest, WithoutTokensTheEchoComesWithTheEnd) {
  params_.echo = true;
  params_.max_tokens = 0;
  auto call = Start();
  engine_.Finish(1, FinishReason::kLength);
  const auto chunk = call->Next();
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->text, "say");
  EXPECT_TRUE(chunk->end);
  EXPECT_FALSE(call->Next());
}

TEST_F(CompletionCallTest, LogProbabilitiesComeOnlyIfAskedFor) {
  auto call = Start();
  engine_.Emit(1, Ids("a"));
  EXPECT_TRUE(call->Next()->logprobs.empty());
}

TEST_F(CompletionCallTest, TheEndBringsTheStabilityThatWasAskedFor) {
  params_.stability = true;
  for (const bool heads : {false, true}) {
    params_.stability_heads = heads;
    auto call = Start();
    const RequestHandle handle = engine_.submitted();
    EXPECT_TRUE(engine_.AwaitRequest(handle).stability);
    engine_.Emit(handle, Ids("a"));
    EXPECT_FALSE(call->Next()->end);
    engine_.Finish(handle, Observed(FinishReason::kLength));
    const auto chunk = call->Next();
    ASSERT_TRUE(chunk && chunk->end && chunk->end->stability);
    const StabilitySummary& summary = *chunk->end->stability;
    EXPECT_EQ(summary.queries, 4);
    EXPECT_DOUBLE_EQ(summary.entropy, 1.1);
    EXPECT_TRUE(summary.alpha);
    ASSERT_EQ(summary.heads.has_value(), heads);
    if (heads) EXPECT_THAT(summary.heads->queries, ElementsAre(4, 4, 0, 2));
  }
}

TEST_F(CompletionCallTest, AnUnstableEndKeepsTheTextThatCameBeforeIt) {
  params_.stability = true;
  params_.stop = {"END"};
  auto call = Start();
  engine_.Emit(1, Ids("xEN"));
  engine_.Finish(1, Observed(FinishReason::kUnstable));
  Answer answer;
  Read(*call, answer);
  EXPECT_EQ(answer.text, "xEN");
  ASSERT_TRUE(answer.end);
  EXPECT_EQ(answer.end->reason, FinishReason::kUnstable);
  EXPECT_TRUE(answer.end->stability);
  EXPECT_FALSE(answer.end->error);
}

TEST_F(CompletionCallTest, AnErrorBringsNoStability) {
  params_.stability = true;
  auto call = Start();
  RequestFinish finish = Observed(FinishReason::kError);
  finish.error = RequestError{ErrorCause::kNonFinite, "the logits were not finite", ""};
  engine_.Finish(1, finish);
  EXPECT_FALSE(call->Next()->end->stability);
}

TEST_F(CompletionCallTest, AStopStringsEndBringsTheStability) {
  engine_.HoldCancels();
  params_.stability = true;
  params_.stop = {"END"};
  auto call = Start();
  engine_.Emit(1, Ids("xEND"));
  Answer answer;
  Read(*call, answer);
  engine_.Finish(1, Observed(FinishReason::kStop));
  Read(*call, answer);
  ASSERT_TRUE(answer.end && answer.end->stability);
  EXPECT_EQ(answer.end->stability->queries, 4);
}

TEST_F(CompletionCallTest, AnEnginesErrorEndsTheCall) {
  auto call = Start();
  RequestFinish finish;
  finish.reason = FinishReason::kError;
  finish.error = RequestError{ErrorCause::kNonFinite, "the logits were not finite", ""};
  engine_.Finish(1, finish);
  const auto chunk = call->Next();
  ASSERT_TRUE(chunk && chunk->end && chunk->end->error);
  EXPECT_EQ(chunk->end->reason, FinishReason::kError);
  EXPECT_EQ(chunk->end->error->cause, ErrorCause::kNonFinite);
}

TEST_F(CompletionCallTest, CancelReachesTheEngineAndEndsWithItsReason) {
  auto call = Start();
  call->Cancel({ErrorCause::kDeadline, "the deadline passed", ""});
  const auto chunk = call->Next();
  ASSERT_TRUE(chunk && chunk->end && chunk->end->error);
  EXPECT_EQ(chunk->end->error->cause, ErrorCause::kDeadline);
}

TEST_F(CompletionCallTest, DroppingTheCallCancelsAndNothingIsToldAfterwards) {
  engine_.HoldCancels();
  auto call = Start();
  call.reset();
  EXPECT_EQ(engine_.AwaitCancel(1).second.value().cause, ErrorCause::kCancelled);
  engine_.Emit(1, Ids("a"));
  EXPECT_EQ(told_, 0);
}

TEST_F(CompletionCallTest, WhatIsRefusedIsNotSubmitted) {
  params_.temperature = -1;
  EXPECT_EQ(Refused().param, "temperature");
  EXPECT_EQ(Refused().model_name, "tiny");
  params_.temperature.reset();
  params_.model = "other";
  EXPECT_EQ(Refused().cause, ErrorCause::kUnknownModel);
  EXPECT_EQ(Refused().model_name, "");
  EXPECT_EQ(engine_.submitted(), 0u);
  params_.model.clear();
  engine_.RefuseWith({ErrorCause::kFull, "the queue is full", "", 3});
  EXPECT_EQ(Refused().retry_after_seconds, 3);
  EXPECT_EQ(Refused().model_name, "tiny");
  EXPECT_EQ(engine_.cancels(), 0u);
}

TEST_F(CompletionCallTest, TheChunkWithTheFirstTokenSaysWhenTheEngineHadIt) {
  const auto call = Start();
  const Clock::Time when(std::chrono::seconds(7));
  engine_.EmitFirst(1, 'h', when);
  EXPECT_EQ(call->Next()->first_token, when);
  engine_.Emit(1, Ids("ey"));
  EXPECT_EQ(call->Next()->first_token, std::nullopt);
}

TEST_F(CompletionCallTest, RequestsWithoutASeedDiffer) {
  const auto first = Start();
  const auto second = Start();
  EXPECT_NE(engine_.AwaitRequest(1).sampling.seed, engine_.AwaitRequest(2).sampling.seed);
}

}  // namespace
}  // namespace affine
