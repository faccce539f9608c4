#include "server/request/completion_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/server/request/byte_tokenizer.h"
#include "tests/server/request/scripted_engine.h"

namespace affine {
namespace {

using ::testing::ElementsAre;

/// Everything that was read of a call.
struct Answer {
  std::string text;
  std::vector<int32_t> token_ids;
  std::vector<ScoredToken> logprobs;
  std::vector<ScoredToken> prompt_logprobs;
  std::optional<CompletionEnd> end;
};

void Read(CompletionCall& call, Answer& answer) {
  while (std::optional<CompletionChunk> chunk = call.Next()) {
    EXPECT_FALSE(answer.end) << "a chunk after the last one";
    answer.text += chunk->text;
    answer.token_ids.insert(answer.token_ids.end(), chunk->token_ids.begin(),
                            chunk->token_ids.end());
    answer.logprobs.insert(answer.logprobs.end(), chunk->logprobs.begin(), chunk->logprobs.end());
    answer.prompt_logprobs.insert(answer.prompt_logprobs.end(), chunk->prompt_logprobs.begin(),
                                  chunk->prompt_logprobs.end());
    answer.end = chunk->end;
  }
}

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
  params_.temperature.reset();
  params_.model = "other";
  EXPECT_EQ(Refused().cause, ErrorCause::kUnknownModel);
  EXPECT_EQ(engine_.submitted(), 0u);
  params_.model.clear();
  engine_.RefuseWith({ErrorCause::kFull, "the queue is full", "", 3});
  EXPECT_EQ(Refused().retry_after_seconds, 3);
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

/// Runs random tokens through a call in random pieces and holds the pieces against the answer that
/// Decode and a plain search give.
class RandomStreamTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  int Below(int n) { return static_cast<int>(random_() % n); }
  template <typename T>
  const T& Any(const std::vector<T>& from) {
    return from[Below(static_cast<int>(from.size()))];
  }

  /// The number of tokens up to the one that completes a stop string, and the text before it.
  std::pair<size_t, std::string> Expected(const std::vector<int32_t>& tokens,
                                          const std::vector<std::string>& stops, bool& stopped) {
    const auto cut = [&](const std::string& text) -> std::optional<std::string> {
      for (size_t end = 1; end <= text.size(); ++end) {
        size_t longest = 0;
        for (const std::string& stop : stops) {
          if (std::string_view(text).substr(0, end).ends_with(stop)) {
            longest = std::max(longest, stop.size());
          }
        }
        if (longest > 0) return text.substr(0, end - longest);
      }
      return std::nullopt;
    };
    const auto bytes_of = [&](size_t count) {
      std::string bytes;
      for (size_t i = 0; i < count; ++i) {
        if (!tokenizer_.IsSpecial(tokens[i])) bytes += tokenizer_.TokenBytes(tokens[i]);
      }
      return bytes;
    };
    stopped = true;
    for (size_t count = 1; count <= tokens.size(); ++count) {
      std::string bytes = bytes_of(count);
      bytes.resize(bytes.size() - IncompleteUtf8Suffix(bytes));
      if (auto text = cut(ReplaceInvalidUtf8(bytes))) return {count, *text};
    }
    const std::string whole = tokenizer_.Decode(tokens, true);
    if (auto text = cut(whole)) return {tokens.size(), *text};
    stopped = false;
    return {tokens.size(), whole};
  }

  const std::vector<std::string> pieces_ = {"ab",
                                            "ba",
                                            "aab",
                                            "\xe2\x82",
                                            "\xac",
                                            "\xac\xe2",
                                            "\xf0\x9f\x98",
                                            "\xc3\xa9"
                                            "a",
                                            "\x80",
                                            "\xa9",
                                            "b\xc3",
                                            "\xef\xbf\xbd"};
  ByteTokenizer tokenizer_{pieces_};
  std::mt19937 random_{GetParam()};
};

TEST_P(RandomStreamTest, PiecesEqualTheUnaryAnswerAndStopStringsNeverLeak) {
  ScriptedEngine engine(SmallModelInfo(tokenizer_));
  engine.HoldCancels();
  ServedModels models({"tiny"});
  models.Add({"tiny", &engine, &tokenizer_, 0});
  const std::vector<std::string> parts = {
      "a", "b", "ab", "\xe2\x82\xac", "\xc3\xa9", "\xef\xbf\xbd", "\xf0\x9f\x98\x80"};
  int stops_seen = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<int32_t> tokens;
    for (int i = Below(40); i > 0; --i) {
      tokens.push_back(Below(4) == 0 ? 'a' + Below(2) : 256 + Below(tokenizer_.vocab_size() - 257));
    }
    CompletionParams params;
    params.prompt = "p";
    for (int i = Below(4); i > 0; --i) {
      std::string stop;
      for (int j = 1 + Below(3); j > 0; --j) stop += Any(parts);
      params.stop.push_back(stop);
    }
    bool stopped = false;
    const auto [count, text] = Expected(tokens, params.stop, stopped);
    const auto call =
        std::get<std::shared_ptr<CompletionCall>>(StartCompletion(params, models, [] {}));
    const RequestHandle handle = engine.submitted();
    Answer answer;
    for (size_t at = 0; at < tokens.size();) {
      const size_t end = std::min(tokens.size(), at + 1 + Below(4));
      engine.Emit(handle, {tokens.begin() + at, tokens.begin() + end});
      at = end;
      if (Below(2) == 0) Read(*call, answer);
      ASSERT_TRUE(text.starts_with(answer.text)) << "leaked: " << answer.text;
      ASSERT_TRUE(IsValidUtf8(answer.text));
    }
    engine.Finish(handle, FinishReason::kLength);
    Read(*call, answer);
    ASSERT_EQ(answer.text, text);
    ASSERT_EQ(answer.token_ids, std::vector<int32_t>(tokens.begin(), tokens.begin() + count));
    ASSERT_TRUE(answer.end);
    ASSERT_EQ(answer.end->usage.output_tokens, static_cast<int32_t>(count));
    ASSERT_EQ(answer.end->reason, stopped ? FinishReason::kStop : FinishReason::kLength);
    stops_seen += stopped;
  }
  EXPECT_GT(stops_seen, 20);
  EXPECT_LT(stops_seen, 180);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomStreamTest, ::testing::Range(1u, 11u));

}  // namespace
}  // namespace affine
