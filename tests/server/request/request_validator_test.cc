#include "server/request/request_validator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/server/request/byte_tokenizer.h"
#include "tests/server/request/scripted_engine.h"

namespace affine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class RequestValidatorTest : public ::testing::Test {
 protected:
  RequestValidatorTest() { params_.prompt = "hello"; }

  ValidatedRequest Valid() {
    auto result = validator_.Validate(params_, 1234);
    if (auto* error = std::get_if<RequestError>(&result)) {
      ADD_FAILURE() << error->message;
      return {};
    }
    return std::get<ValidatedRequest>(std::move(result));
  }
  RequestError Invalid() {
    auto result = validator_.Validate(params_, 1234);
    if (std::holds_alternative<ValidatedRequest>(result)) {
      ADD_FAILURE() << "nothing was refused";
      return {};
    }
    RequestError error = std::get<RequestError>(result);
    EXPECT_EQ(error.cause, ErrorCause::kBadInput);
    return error;
  }
  void ExpectRefused(const std::string& param, const std::string& message) {
    const RequestError error = Invalid();
    EXPECT_EQ(error.param, param);
    EXPECT_EQ(error.message, message);
  }

  ByteTokenizer tokenizer_;  // 258 tokens; 257 ends a text
  ModelInfo model_ = SmallModelInfo(tokenizer_);
  RequestValidator validator_{model_, tokenizer_};
  CompletionParams params_;
};

TEST_F(RequestValidatorTest, WhatIsLeftOutTakesTheModelsDefaults) {
  const Request request = Valid().request;
  EXPECT_THAT(request.prompt, ElementsAre('h', 'e', 'l', 'l', 'o'));
  EXPECT_EQ(request.max_tokens, 16);
  EXPECT_EQ(request.sampling.temperature, 0.5f);
  EXPECT_EQ(request.sampling.top_k, 7);
  EXPECT_EQ(request.sampling.top_p, 0.25f);
  EXPECT_EQ(request.sampling.seed, 1234u);
  EXPECT_EQ(request.sampling.top_log_probs, -1);
  EXPECT_EQ(request.sampling.prompt_top_log_probs, -1);
  EXPECT_THAT(request.stop_token_ids, ElementsAre(257));
  EXPECT_EQ(request.id.size(), 32u);
  EXPECT_FALSE(request.deadline);
  EXPECT_FALSE(request.stability);
}

TEST_F(RequestValidatorTest, WhatIsGivenIsTaken) {
  params_.prompt = std::vector<int64_t>{0, 257, 5};
  params_.max_tokens = 61;
  params_.temperature = 0;
  params_.top_k = -1;
  params_.top_p = 1;
  params_.seed = 0;
  params_.stop = {"a", "b"};
  params_.stop_token_ids = {9, 3, 9};
  params_.ignore_eos = true;
  params_.logprobs = 0;
  params_.prompt_logprobs = 20;
  params_.skip_special_tokens = false;
  params_.request_id = "mine";
  params_.priority = -1000;
  params_.cache_salt = "salt";
  params_.stability = true;
  params_.stability_heads = true;
  params_.include_stop_str_in_output = true;
  const ValidatedRequest valid = Valid();
  const Request& request = valid.request;
  EXPECT_THAT(request.prompt, ElementsAre(0, 257, 5));
  EXPECT_EQ(request.max_tokens, 61);
  EXPECT_EQ(request.sampling.temperature, 0.0f);
  EXPECT_EQ(request.sampling.top_k, 0);
  EXPECT_EQ(request.sampling.top_p, 1.0f);
  EXPECT_EQ(request.sampling.seed, 0u);
  EXPECT_EQ(request.sampling.top_log_probs, 0);
  EXPECT_EQ(request.sampling.prompt_top_log_probs, 20);
  EXPECT_THAT(request.stop_token_ids, ElementsAre(3, 9));
  EXPECT_EQ(request.id, "mine");
  EXPECT_EQ(request.priority, -1000);
  EXPECT_EQ(request.cache_salt, "salt");
  EXPECT_TRUE(request.stability);
  EXPECT_THAT(valid.stop, ElementsAre("a", "b"));
  EXPECT_FALSE(valid.skip_special_tokens);
  EXPECT_TRUE(valid.stability_heads);
  EXPECT_TRUE(valid.include_stop_str_in_output);
}

TEST_F(RequestValidatorTest, HeadsOfTheStabilityAreNotGivenWithoutTheStability) {
  params_.stability = true;
  EXPECT_FALSE(Valid().stability_heads);
  params_.stability = false;
  params_.stability_heads = true;
  ExpectRefused("stability_heads",
                "`stability_heads` is true and `stability` is false; set `stability` to true as "
                "well, or leave `stability_heads` out");
}

TEST_F(RequestValidatorTest, RealNumbersMustBeFiniteAndInside) {
  for (const double value : {-0.001, 100.5, kNan, kInfinity, -kInfinity}) {
    params_.temperature = value;
    EXPECT_EQ(Invalid().param, "temperature") << value;
  }
  params_.temperature = kNan;
  ExpectRefused("temperature", "`temperature` is nan; it must be a finite number in [0, 100]");
  params_.temperature = 100;
  for (const double value : {0.0, -1.0, 1.001, kNan, kInfinity}) {
    params_.top_p = value;
    EXPECT_EQ(Invalid().param, "top_p") << value;
  }
}

TEST_F(RequestValidatorTest, ATinyTopPStaysAboveZeroAsAFloat) {
  params_.top_p = 1e-300;
  EXPECT_GT(Valid().request.sampling.top_p, 0.0f);
}

TEST_F(RequestValidatorTest, IntegersMustBeInside) {
  const auto refuses = [&](std::optional<int64_t>& field, const std::string& name,
                           std::initializer_list<int64_t> values) {
    for (const int64_t value : values) {
      field = value;
      const RequestError error = Invalid();
      EXPECT_EQ(error.param, name);
      EXPECT_THAT(error.message, HasSubstr("`" + name + "` is " + std::to_string(value)));
    }
    field.reset();
  };
  refuses(params_.top_k, "top_k", {-2, int64_t{1} << 31, kHuge, -kHuge});
  refuses(params_.max_tokens, "max_tokens", {-1, 60, int64_t{1} << 31, kHuge, -kHuge});
  refuses(params_.logprobs, "logprobs", {-1, 21, kHuge});
  refuses(params_.prompt_logprobs, "prompt_logprobs", {-1, 21, kHuge});
  refuses(params_.timeout_ms, "timeout_ms", {0, -1, 86'400'001, kHuge});
  refuses(params_.max_ttft_ms, "max_ttft_ms", {0, -1, 86'400'001, kHuge});
  for (const int64_t value : {int64_t{-1001}, int64_t{1001}, kHuge}) {
    params_.priority = value;
    EXPECT_EQ(Invalid().param, "priority");
  }
  params_.priority = 1000;
  Valid();
}

TEST_F(RequestValidatorTest, PromptIdsAreCheckedAgainstTheVocabularyWithTheirPosition) {
  params_.prompt = std::vector<int64_t>{1, 2, 258};
  ExpectRefused("prompt", "`prompt[2]` is 258; it must be a token id in [0, 257]");
  params_.prompt = std::vector<int64_t>{-1};
  ExpectRefused("prompt", "`prompt[0]` is -1; it must be a token id in [0, 257]");
  params_.prompt = std::vector<int64_t>{(int64_t{1} << 32) + 5};
  EXPECT_EQ(Invalid().param, "prompt");
}

TEST_F(RequestValidatorTest, StopIdsAreCheckedAgainstTheVocabularyWithTheirPosition) {
  params_.stop_token_ids = {0, -7};
  ExpectRefused("stop_token_ids", "`stop_token_ids[1]` is -7; it must be a token id in [0, 257]");
  params_.stop_token_ids.assign(1025, 1);
  ExpectRefused("stop_token_ids", "`stop_token_ids` has 1025 ids; it must have at most 1024");
  params_.stop_token_ids.assign(1024, 1);
  EXPECT_THAT(Valid().request.stop_token_ids, ElementsAre(1, 257));
}

TEST_F(RequestValidatorTest, ATextThatEncodesOutsideOfTheVocabularyIsRefused) {
  model_.vocab_size = 'l';
  ExpectRefused("prompt", "`prompt[2]` is 108; it must be a token id in [0, 107]");
}

TEST_F(RequestValidatorTest, AnEmptyPromptIsRefused) {
  for (const auto& empty : {decltype(params_.prompt)(std::string()),
                            decltype(params_.prompt)(std::vector<int64_t>())}) {
    params_.prompt = empty;
    ExpectRefused("prompt", "`prompt` is empty; it must have at least 1 token");
  }
  tokenizer_.AddBos();
  params_.prompt = std::string();
  EXPECT_THAT(Valid().request.prompt, ElementsAre(256));
}

TEST_F(RequestValidatorTest, AnOverlongPromptIsRefusedWithBothNumbers) {
  params_.prompt = std::string(65, 'a');
  ExpectRefused(
      "prompt",
      "`prompt` has 65 tokens; the model's limit is 64 tokens, prompt and output together");
  params_.prompt = std::vector<int64_t>(1000, 1);
  params_.max_tokens = 5;
  EXPECT_THAT(Invalid().message, HasSubstr("1000 tokens; the model's limit is 64 tokens"));
}

TEST_F(RequestValidatorTest, MaxTokensThatDoNotFitAreRefusedIfGivenAndClippedIfNot) {
  params_.prompt = std::string(60, 'a');
  EXPECT_EQ(Valid().request.max_tokens, 4);
  params_.max_tokens = 4;
  EXPECT_EQ(Valid().request.max_tokens, 4);
  params_.max_tokens = 5;
  ExpectRefused("max_tokens",
                "`max_tokens` is 5 and the prompt has 60 tokens, 65 together; the model's limit is "
                "64 tokens, which leaves max_tokens in [0, 4]");
}

TEST_F(RequestValidatorTest, UpToTheModelsLengthIsAsManyTokensAsThePromptLeaves) {
  params_.up_to_model_len = true;
  params_.prompt = std::string(3, 'a');
  EXPECT_EQ(Valid().request.max_tokens, 61);
  params_.max_tokens = 5;
  EXPECT_EQ(Valid().request.max_tokens, 5);
}

TEST_F(RequestValidatorTest, APromptAsLongAsTheModelHasRoomForNoTokens) {
  params_.prompt = std::string(64, 'a');
  EXPECT_EQ(Valid().request.max_tokens, 0);
  params_.max_tokens = 0;
  EXPECT_EQ(Valid().request.max_tokens, 0);
  params_.max_tokens = 1;
  EXPECT_EQ(Invalid().param, "max_tokens");
}

TEST_F(RequestValidatorTest, StopStringsHaveLimits) {
  params_.stop.assign(10000, "x");
  ExpectRefused("stop", "`stop` has 10000 strings; it must have at most 64");
  params_.stop = {"a", ""};
  ExpectRefused("stop", "`stop[1]` has 0 bytes; it must have 1 to 1024");
  params_.stop = {std::string(1025, 'x')};
  ExpectRefused("stop", "`stop[0]` has 1025 bytes; it must have 1 to 1024");
  params_.stop.assign(64, std::string(1024, 'x'));
  EXPECT_EQ(Valid().stop.size(), 64u);
}

TEST_F(RequestValidatorTest, BrokenUtf8IsNamedByItsField) {
  params_.stop = {"ok", "\xff"};
  ExpectRefused("stop", "`stop[1]` is not valid UTF-8; it must be text in UTF-8");
  params_.stop.clear();
  params_.prompt = std::string("a\xc0\xaf");
  ExpectRefused("prompt", "`prompt` is not valid UTF-8; it must be text in UTF-8");
}

TEST_F(RequestValidatorTest, NamesHaveLimits) {
  params_.cache_salt = std::string(257, 's');
  ExpectRefused("cache_salt", "`cache_salt` has 257 bytes; it must have at most 256");
  params_.cache_salt = std::string(256, 's');
  params_.request_id = "two words";
  EXPECT_EQ(Invalid().param, "request_id");
}

TEST_F(RequestValidatorTest, TruncationKeepsTheEndOfThePrompt) {
  tokenizer_.AddBos();
  params_.truncate_prompt_tokens = 3;
  EXPECT_THAT(Valid().request.prompt, ElementsAre('l', 'l', 'o'));
  params_.truncate_prompt_tokens = 6;
  EXPECT_THAT(Valid().request.prompt, ElementsAre(256, 'h', 'e', 'l', 'l', 'o'));
  params_.truncate_prompt_tokens = 64;
  EXPECT_EQ(Valid().request.prompt.size(), 6u);
  params_.prompt = std::vector<int64_t>(1000, 1);
  std::get<1>(params_.prompt).back() = 7;
  params_.truncate_prompt_tokens = 2;
  EXPECT_THAT(Valid().request.prompt, ElementsAre(1, 7));
  params_.truncate_prompt_tokens = 64;
  EXPECT_EQ(Valid().request.prompt.size(), 64u);
  params_.max_tokens = 1;
  EXPECT_EQ(Invalid().param, "max_tokens");
}

TEST_F(RequestValidatorTest, TruncationToTheModelsLengthLeavesRoomForTheAnswer) {
  params_.prompt = std::string(1000, 'a');
  params_.truncate_prompt_tokens = -1;
  EXPECT_EQ(Valid().request.prompt.size(), 64u - 16u);
  EXPECT_EQ(Valid().request.max_tokens, 16);
  params_.max_tokens = 0;
  EXPECT_EQ(Valid().request.prompt.size(), 64u);
  params_.max_tokens = 63;
  EXPECT_EQ(Valid().request.prompt.size(), 1u);
  params_.max_tokens = 64;
  EXPECT_EQ(Invalid().param, "max_tokens");
  params_.prompt = "short";
  params_.max_tokens = 5;
  EXPECT_EQ(Valid().request.prompt.size(), 5u);
  params_.prompt = "";
  EXPECT_EQ(Invalid().param, "prompt");
}

TEST_F(RequestValidatorTest, TruncationHasLimits) {
  for (const int64_t value : {int64_t{0}, int64_t{-2}, int64_t{65}, kHuge, -kHuge}) {
    params_.truncate_prompt_tokens = value;
    ExpectRefused("truncate_prompt_tokens",
                  "`truncate_prompt_tokens` is " + std::to_string(value) +
                      "; it must be an integer in [1, 64], or -1 for what leaves room for "
                      "max_tokens");
  }
  params_.truncate_prompt_tokens = 1;
  EXPECT_EQ(Valid().request.prompt.size(), 1u);
}

TEST_F(RequestValidatorTest, TheEchoOfATruncatedPromptIsWhatIsLeft) {
  params_.echo = true;
  params_.truncate_prompt_tokens = 2;
  EXPECT_EQ(Valid().echo_text, "lo");
  params_.truncate_prompt_tokens = 5;
  EXPECT_EQ(Valid().echo_text, "hello");
}

TEST_F(RequestValidatorTest, EchoBringsThePromptsTextAndItsLogProbabilities) {
  params_.echo = true;
  params_.logprobs = 3;
  ValidatedRequest valid = Valid();
  EXPECT_EQ(valid.echo_text, "hello");
  EXPECT_EQ(valid.request.sampling.prompt_top_log_probs, 3);
  params_.prompt = std::vector<int64_t>{256, 'h', 'i'};
  params_.prompt_logprobs = 1;
  valid = Valid();
  EXPECT_EQ(valid.echo_text, "hi");
  EXPECT_EQ(valid.request.sampling.prompt_top_log_probs, 1);
  params_.skip_special_tokens = false;
  EXPECT_EQ(Valid().echo_text, "<bos>hi");
}

TEST_F(RequestValidatorTest, TheEarlierOfDeadlineAndTimeoutHolds) {
  using std::chrono::milliseconds;
  params_.arrival = Clock::Time(milliseconds(1000));
  params_.timeout_ms = 500;
  EXPECT_EQ(Valid().request.deadline, Clock::Time(milliseconds(1500)));
  params_.deadline = Clock::Time(milliseconds(1200));
  EXPECT_EQ(Valid().request.deadline, Clock::Time(milliseconds(1200)));
  params_.deadline = Clock::Time(milliseconds(9000));
  EXPECT_EQ(Valid().request.deadline, Clock::Time(milliseconds(1500)));
  params_.timeout_ms.reset();
  EXPECT_EQ(Valid().request.deadline, Clock::Time(milliseconds(9000)));
}

}  // namespace
}  // namespace affine
