#include "server/request/answer_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "model/utf8.h"
#include "server/request/answer_seed.h"
#include "tests/server/request/byte_tokenizer.h"
#include "tests/server/request/call_answer.h"
#include "tests/server/request/scripted_engine.h"

namespace affine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AnswerGroupTest : public ::testing::Test {
 protected:
  AnswerGroupTest() {
    models_.Add({"tiny", &engine_, &tokenizer_, 0});
    params_.prompt = "say";
    params_.seed = 5;
  }
  std::shared_ptr<CompletionCall> Start() {
    auto result = StartCompletion(params_, models_, [this] { ++told_; });
    if (auto* error = std::get_if<RequestError>(&result)) ADD_FAILURE() << error->message;
    return std::get<std::shared_ptr<CompletionCall>>(std::move(result));
  }
  std::string Refused() {
    return std::get<RequestError>(StartCompletion(params_, models_, [] {})).message;
  }
  static std::vector<int32_t> Bytes(std::string_view text) { return {text.begin(), text.end()}; }
  /// Everything that has come so far, by answer.
  void ReadAll(CompletionCall& call) {
    while (std::optional<CompletionChunk> chunk = call.Next()) {
      EXPECT_FALSE(total_) << "a chunk after the last one";
      Answer& answer = answers_[chunk->answer];
      EXPECT_FALSE(answer.end) << "answer " << chunk->answer << " goes on after its end";
      answer.text += chunk->text;
      answer.token_ids.insert(answer.token_ids.end(), chunk->token_ids.begin(),
                              chunk->token_ids.end());
      answer.logprobs.insert(answer.logprobs.end(), chunk->logprobs.begin(), chunk->logprobs.end());
      answer.prompt_logprobs.insert(answer.prompt_logprobs.end(), chunk->prompt_logprobs.begin(),
                                    chunk->prompt_logprobs.end());
      answer.end = chunk->end;
      if (chunk->first_token) first_tokens_.push_back(*chunk->first_token);
      total_ = chunk->total;
    }
  }
  /// A whole answer whose tokens have these log-probabilities.
  void Answers(RequestHandle handle, const std::string& text, const std::vector<float>& log_probs) {
    TokenEvent event;
    for (size_t i = 0; i < text.size(); ++i) {
      event.tokens.push_back({text[i], log_probs[i % log_probs.size()], 1, {}});
    }
    event.first_token = Clock::Time(std::chrono::seconds(handle));
    event.finish = RequestFinish{};
    event.finish->reason = FinishReason::kLength;
    event.finish->cached_tokens = static_cast<int32_t>(handle);
    engine_.Push(handle, std::move(event));
  }

  ByteTokenizer tokenizer_;
  ScriptedEngine engine_{SmallModelInfo(tokenizer_)};
  ServedModels models_{{"tiny"}};
  CompletionParams params_;
  std::atomic<int> told_ = 0;
  std::map<int32_t, Answer> answers_;
  std::vector<Clock::Time> first_tokens_;
  std::optional<CompletionUsage> total_;
};

TEST_F(AnswerGroupTest, AnswersDifferInTheirSeedsAloneAndTheFirstIsTheOneOfAlone) {
  params_.n = 3;
  params_.prompt_logprobs = 2;
  const auto call = Start();
  EXPECT_EQ(call->num_answers(), 3);
  std::set<uint64_t> seeds;
  for (size_t i = 1; i <= 3; ++i) {
    const Request request = engine_.AwaitRequest(i);
    EXPECT_THAT(request.prompt, ElementsAre('s', 'a', 'y'));
    EXPECT_EQ(request.answer, static_cast<int32_t>(i) - 1);
    EXPECT_EQ(request.same_prompt, i > 1);
    EXPECT_EQ(request.sampling.prompt_top_log_probs, i == 1 ? 2 : -1) << "scored once";
    EXPECT_EQ(request.id, call->request_id());
    EXPECT_EQ(request.sampling.seed, SeedOfAnswer(5, static_cast<int32_t>(i) - 1));
    seeds.insert(request.sampling.seed);
  }
  EXPECT_EQ(engine_.AwaitRequest(1).sampling.seed, 5u);
  EXPECT_EQ(seeds.size(), 3u);
}

TEST_F(AnswerGroupTest, AnswersComeSideBySideAndThePromptCountsOnce) {
  params_.n = 2;
  const auto call = Start();
  engine_.Emit(1, Bytes("a"));
  engine_.Emit(2, Bytes("x"));
  EXPECT_EQ(told_, 1) << "one look finds both";
  ReadAll(*call);
  EXPECT_EQ(answers_[0].text, "a");
  EXPECT_EQ(answers_[1].text, "x");
  Answers(2, "yz", {-1});
  ReadAll(*call);
  EXPECT_TRUE(answers_[1].end && !answers_[0].end && !total_);
  EXPECT_EQ(answers_[1].end->usage.output_tokens, 3);
  Answers(1, "b", {-1});
  ReadAll(*call);
  EXPECT_EQ(answers_[0].text, "ab");
  EXPECT_EQ(answers_[1].text, "xyz");
  ASSERT_TRUE(answers_[0].end && total_);
  EXPECT_EQ(total_->prompt_tokens, 3);
  EXPECT_EQ(total_->cached_tokens, 1) << "of the first, which computed the prompt";
  EXPECT_EQ(total_->output_tokens, 5);
  EXPECT_EQ(first_tokens_.size(), 1u);
}

TEST_F(AnswerGroupTest, AnswersTakeTurnsSoThatASlowReaderSeesAllOfThem) {
  params_.n = 3;
  const auto call = Start();
  std::vector<int32_t> order;
  for (int round = 0; round < 4; ++round) {
    for (RequestHandle handle = 1; handle <= 3; ++handle) engine_.Emit(handle, Bytes("a"));
    order.push_back(call->Next()->answer);
  }
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 0));
}

TEST_F(AnswerGroupTest, PromptsAreAnsweredInOrderEachAsIfAlone) {
  params_.prompt = "ab";
  params_.more_prompts = {std::vector<int64_t>{'c', 'd', 'e'}};
  params_.n = 2;
  params_.echo = true;
  const auto call = Start();
  EXPECT_EQ(call->num_answers(), 4);
  EXPECT_THAT(call->prompt_of(1), ElementsAre('a', 'b'));
  EXPECT_THAT(call->prompt_of(2), ElementsAre('c', 'd', 'e'));
  EXPECT_FALSE(engine_.AwaitRequest(3).same_prompt);
  EXPECT_EQ(engine_.AwaitRequest(3).sampling.seed, 5u);
  EXPECT_EQ(engine_.AwaitRequest(4).sampling.seed, engine_.AwaitRequest(2).sampling.seed);
  EXPECT_EQ(engine_.AwaitRequest(4).id, engine_.AwaitRequest(1).id);
  for (RequestHandle handle = 4; handle >= 1; --handle) Answers(handle, "x", {-1});
  ReadAll(*call);
  EXPECT_EQ(answers_[0].text, "abx");
  EXPECT_EQ(answers_[3].text, "cdex");
  EXPECT_EQ(total_->prompt_tokens, 5);
  EXPECT_EQ(total_->cached_tokens, 4) << "1 and 3, of each prompt's first";
  EXPECT_EQ(total_->output_tokens, 4);
}

TEST_F(AnswerGroupTest, TheBestOfSeveralHaveTheHighestMeanLogProbability) {
  params_.n = 2;
  params_.best_of = 4;
  const auto call = Start();
  EXPECT_EQ(call->num_answers(), 2);
  EXPECT_EQ(engine_.AwaitRequest(4).sampling.top_log_probs, 0) << "computed for the ranking";
  Answers(1, "long answer", {-1});  // the lowest sum, but not the lowest mean
  Answers(2, "b", {-3});
  Answers(3, "cc", {-0.5, -0.25});
  ReadAll(*call);
  EXPECT_TRUE(answers_.empty()) << "the last may be the best";
  Answers(4, "d", {-1});
  ReadAll(*call);
  EXPECT_EQ(answers_[0].text, "cc");
  EXPECT_EQ(answers_[1].text, "long answer") << "of equals the first";
  EXPECT_EQ(answers_.size(), 2u);
  EXPECT_TRUE(answers_[0].logprobs.empty()) << "they were not asked for";
  EXPECT_EQ(total_->output_tokens, 15) << "those that lost were made as well";
  EXPECT_EQ(first_tokens_.size(), 1u);
}

TEST_F(AnswerGroupTest, AnAnswerAfterAStopStringIsRankedByWhatIsDelivered) {
  params_.best_of = 2;
  params_.stop = {"!"};
  const auto call = Start();
  Answers(1, "a!zzzz", {-1, -1, -90});  // what followed the stop string does not count
  Answers(2, "b", {-2});
  ReadAll(*call);
  EXPECT_EQ(answers_[0].text, "a");
  EXPECT_EQ(total_->output_tokens, 3);
}

TEST_F(AnswerGroupTest, EveryAnswerHasThePromptsLogProbabilities) {
  for (const bool ranked : {false, true}) {
    answers_.clear();
    total_.reset();
    params_.prompt_logprobs = 0;
    params_.n = 2;
    if (ranked) params_.best_of = 3;
    const RequestHandle first = engine_.submitted() + 1;
    const auto call = Start();
    Answers(first + 1, "b", {-1});
    if (ranked) Answers(first + 2, "c", {-1});
    ReadAll(*call);
    EXPECT_TRUE(answers_.empty()) << "they wait for the prompt's log-probabilities";
    TokenEvent event;
    event.prompt = {ScriptedEngine::Scored('a'), ScriptedEngine::Scored('y')};
    engine_.Push(first, event);
    Answers(first, "a", {-7});  // ranked last
    ReadAll(*call);
    ASSERT_TRUE(total_);
    EXPECT_EQ(answers_[0].text, ranked ? "b" : "a");
    for (const int i : {0, 1}) EXPECT_EQ(answers_[i].prompt_logprobs.size(), 2u) << i;
  }
}

TEST_F(AnswerGroupTest, AnErrorOfOneEndsAllAndFreesAll) {
  engine_.HoldCancels();
  params_.n = 3;
  const auto call = Start();
  engine_.Emit(1, Bytes("ab"));
  Answers(3, "z", {-1});
  ReadAll(*call);
  RequestFinish finish;
  finish.reason = FinishReason::kError;
  finish.error = RequestError{ErrorCause::kNonFinite, "the logits were not finite", ""};
  engine_.Finish(2, finish);
  ReadAll(*call);
  ASSERT_TRUE(total_);
  EXPECT_EQ(answers_[1].end->error->cause, ErrorCause::kNonFinite);
  ASSERT_EQ(engine_.cancels(), 1u) << "of the one that had not ended";
  EXPECT_EQ(engine_.AwaitCancel(1).first, 1u);
  EXPECT_EQ(engine_.AwaitCancel(1).second->cause, ErrorCause::kNonFinite);
  EXPECT_FALSE(call->Next());
}

TEST_F(AnswerGroupTest, AFailedRankingGivesTheErrorAlone) {
  params_.best_of = 2;
  const auto call = Start();
  Answers(1, "a", {-1});
  engine_.Emit(2, Bytes("b"));
  engine_.Cancel(2, RequestError{ErrorCause::kDeadline, "late", ""});
  const auto chunk = call->Next();
  ASSERT_TRUE(chunk && chunk->end && chunk->total);
  EXPECT_EQ(chunk->end->error->cause, ErrorCause::kDeadline);
  EXPECT_EQ(chunk->text, "");
  EXPECT_EQ(chunk->answer, 0);
}

TEST_F(AnswerGroupTest, CancellingOrDroppingTheCallCancelsEveryAnswer) {
  params_.n = 2;
  auto call = Start();
  call->Cancel({ErrorCause::kCancelled, "gone", ""});
  EXPECT_EQ(engine_.cancels(), 2u);
  ReadAll(*call);
  EXPECT_TRUE(total_);
  engine_.HoldCancels();
  call = Start();
  call.reset();
  EXPECT_EQ(engine_.AwaitCancel(3).second->cause, ErrorCause::kCancelled);
  engine_.AwaitCancel(4);
}

TEST_F(AnswerGroupTest, TooManyAnswersAreRefusedWithTheNumbers) {
  params_.n = 0;
  EXPECT_THAT(Refused(), HasSubstr("`n` is 0; it must be an integer in [1, 128]"));
  params_.n = 129;
  EXPECT_THAT(Refused(), HasSubstr("`n` is 129"));
  params_.n = 3;
  params_.best_of = 2;
  EXPECT_THAT(Refused(), HasSubstr("`best_of` is 2 and `n` is 3; "));
  params_.best_of = 4;
  params_.stream = true;
  EXPECT_THAT(Refused(), HasSubstr("without a stream"));
  params_.best_of.reset();
  params_.n = 128;
  params_.more_prompts.resize(8, "p");
  EXPECT_THAT(Refused(), HasSubstr("`prompt` is a list of 9 and asks for 128 answers to each, 1152 "
                                   "together; a request may ask for at most 1024"));
  EXPECT_EQ(engine_.submitted(), 0u);
  params_.more_prompts.resize(7);
  EXPECT_EQ(Start()->num_answers(), 1024);
}

TEST_F(AnswerGroupTest, AFaultInOnePromptNamesItAndNothingIsSubmitted) {
  params_.more_prompts = {"", std::vector<int64_t>{1, 999}};
  EXPECT_THAT(Refused(), HasSubstr("`prompt[1]` is empty"));
  params_.more_prompts[0] = "x";
  EXPECT_THAT(Refused(), HasSubstr("`prompt[2][1]` is 999; it must be a token id in [0, "));
  EXPECT_EQ(engine_.submitted(), 0u);
}

/// Random answers to random prompts in random pieces: what each answer's pieces add up to is what
/// the same tokens give a request of one answer.
class RandomAnswersTest : public AnswerGroupTest, public ::testing::WithParamInterface<uint32_t> {
 protected:
  int Below(int n) { return static_cast<int>(random_() % n); }
  /// Of all planes and lengths in UTF-8, and now and then a byte that is no character.
  std::string AnyText(int most) {
    static constexpr uint32_t kHighest[] = {0x7f, 0x7ff, 0xd7ff, 0x10ffff};
    std::string text;
    for (int i = Below(most); i > 0; --i) {
      const uint32_t code = random_() % kHighest[Below(4)] + 1;
      if (code < 0x80) {
        text += static_cast<char>(code);
      } else if (code < 0x800) {
        text += {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
      } else if (code < 0x10000) {
        text += {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 63)),
                 static_cast<char>(0x80 | (code & 63))};
      } else {
        text += {static_cast<char>(0xf0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 63)),
                 static_cast<char>(0x80 | (code >> 6 & 63)), static_cast<char>(0x80 | (code & 63))};
      }
    }
    return text;
  }
  Answer Alone(const CompletionParams& params, const std::vector<int32_t>& tokens) {
    auto started = StartCompletion(params, models_, [] {});
    const auto call = std::get<std::shared_ptr<CompletionCall>>(started);
    const RequestHandle handle = engine_.submitted();
    engine_.Emit(handle, tokens);
    engine_.Finish(handle, FinishReason::kLength);
    Answer answer;
    Read(*call, answer);
    return answer;
  }
  void Round();

  std::mt19937 random_{GetParam()};
};

void RandomAnswersTest::Round() {
  const int prompts = 1 + Below(3), n = 1 + Below(4);
  params_.prompt = ReplaceInvalidUtf8("p" + AnyText(8));
  params_.more_prompts.clear();
  for (int i = 1; i < prompts; ++i)
    params_.more_prompts.push_back("q" + ReplaceInvalidUtf8(AnyText(8)));
  params_.n = n;
  params_.echo = Below(2) == 0;
  params_.stop.clear();
  for (int i = Below(3); i > 0; --i) {
    params_.stop.push_back("s" + ReplaceInvalidUtf8(AnyText(2)));
  }
  const RequestHandle first = engine_.submitted() + 1;
  const auto call = Start();
  std::vector<std::vector<int32_t>> tokens(prompts * n);
  std::vector<size_t> sent(prompts * n);
  for (auto& of_one : tokens) {
    std::string bytes = AnyText(30) + (Below(3) == 0 ? "s" : "") + AnyText(30);
    if (Below(4) == 0) bytes += static_cast<char>(0x80 + Below(128));
    for (const char byte : bytes) of_one.push_back(static_cast<uint8_t>(byte));
  }
  for (size_t left = tokens.size(); left > 0;) {
    const size_t i = Below(static_cast<int>(tokens.size()));
    if (sent[i] > tokens[i].size()) continue;  // ended
    const size_t end = std::min(tokens[i].size(), sent[i] + 1 + Below(9));
    engine_.Emit(first + i, {tokens[i].begin() + sent[i], tokens[i].begin() + end});
    sent[i] = end;
    if (end == tokens[i].size()) {
      engine_.Finish(first + i, FinishReason::kLength);
      ++sent[i];
      --left;
    }
    if (Below(3) == 0) ReadAll(*call);
    for (const auto& entry : answers_) ASSERT_TRUE(IsValidUtf8(entry.second.text));
  }
  ReadAll(*call);
  ASSERT_TRUE(total_);
  int32_t output = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    CompletionParams alone = params_;
    if (i >= static_cast<size_t>(n)) alone.prompt = params_.more_prompts[i / n - 1];
    alone.more_prompts.clear();
    alone.n.reset();
    const Answer expected = Alone(alone, tokens[i]);
    const Answer& answer = answers_[static_cast<int32_t>(i)];
    ASSERT_EQ(answer.text, expected.text);
    ASSERT_EQ(answer.token_ids, expected.token_ids);
    ASSERT_EQ(answer.end->reason, expected.end->reason);
    ASSERT_EQ(answer.end->usage.output_tokens, expected.end->usage.output_tokens);
    output += answer.end->usage.output_tokens;
  }
  ASSERT_EQ(total_->output_tokens, output);
}
TEST_P(RandomAnswersTest, PiecesAddUpToTheAnswersOfRequestsAlone) {
  engine_.HoldCancels();
  for (int round = 0; round < 300; ++round) {
    answers_.clear();
    total_.reset();
    Round();
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomAnswersTest, ::testing::Range(1u, 5u));

}  // namespace
}  // namespace affine
