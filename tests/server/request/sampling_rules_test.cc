#include "server/request/sampling_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "server/request/request_validator.h"
#include "tests/server/request/byte_tokenizer.h"
#include "tests/server/request/scripted_engine.h"

namespace affine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class SamplingRulesTest : public ::testing::Test {
 protected:
  SamplingRulesTest() { params_.prompt = "hello"; }

  std::variant<ValidatedRequest, RequestError> Validated() const {
    return RequestValidator(model_, tokenizer_).Validate(params_, 1234);
  }
  SamplingParams Valid() const {
    auto result = Validated();
    if (auto* error = std::get_if<RequestError>(&result)) {
      ADD_FAILURE() << error->message;
      return {};
    }
    return std::get<ValidatedRequest>(std::move(result)).request.sampling;
  }
  RequestError Invalid() const {
    auto result = Validated();
    if (std::holds_alternative<ValidatedRequest>(result)) {
      ADD_FAILURE() << "nothing was refused";
      return {};
    }
    return std::get<RequestError>(std::move(result));
  }
  void ExpectRefused(const std::string& param, const std::string& message) const {
    const RequestError error = Invalid();
    EXPECT_EQ(error.cause, ErrorCause::kBadInput);
    EXPECT_EQ(error.param, param);
    EXPECT_EQ(error.message, message);
  }

  // 256 "ab", 257 " ab", 258 <bos>, 259 <eos>, which ends a text.
  ByteTokenizer tokenizer_{{"ab", " ab"}};
  ModelInfo model_ = SmallModelInfo(tokenizer_);
  CompletionParams params_;
};

TEST_F(SamplingRulesTest, WhatIsLeftOutIsNeutralOrTheModels) {
  const SamplingParams neutral = Valid();
  EXPECT_EQ(neutral.min_p, 0.0f);
  EXPECT_EQ(neutral.typical_p, 1.0f);
  EXPECT_EQ(neutral.repetition_penalty, 1.0f);
  EXPECT_FALSE(neutral.penalizes());
  EXPECT_FALSE(neutral.reads_tokens());
  EXPECT_TRUE(neutral.allowed.empty());
  EXPECT_THAT(neutral.logit_bias, IsEmpty());
  EXPECT_THAT(neutral.held_back_ids, IsEmpty());
  EXPECT_THAT(neutral.log_prob_ids, IsEmpty());
  model_.default_min_p = 0.25f;
  model_.default_repetition_penalty = 1.5f;
  EXPECT_EQ(Valid().min_p, 0.25f);
  EXPECT_EQ(Valid().repetition_penalty, 1.5f);
}

TEST_F(SamplingRulesTest, WhatIsNeutralIsNotLeftOut) {
  model_.default_min_p = 0.25f;
  model_.default_repetition_penalty = 1.5f;
  params_.min_p = 0;
  params_.repetition_penalty = 1;
  params_.frequency_penalty = 0;
  params_.presence_penalty = 0;
  params_.typical_p = 1;
  params_.min_tokens = 0;
  params_.logit_bias = {{5, 0.0}};
  const SamplingParams neutral = Valid();
  EXPECT_EQ(neutral.min_p, 0.0f);
  EXPECT_FALSE(neutral.reads_tokens());
  EXPECT_THAT(neutral.logit_bias, IsEmpty());
}

TEST_F(SamplingRulesTest, RealNumbersHaveLimits) {
  struct Limits {
    std::optional<double> CompletionParams::*field;
    const char* name;
    std::vector<double> good, bad;
  };
  const double above_zero = std::numeric_limits<double>::min();
  for (const Limits& limits : std::vector<Limits>{
           {&CompletionParams::min_p, "min_p", {0, 0.5, 1}, {-1e-9, 1.001}},
           {&CompletionParams::typical_p, "typical_p", {above_zero, 1}, {0, -1, 1.001}},
           {&CompletionParams::repetition_penalty,
            "repetition_penalty",
            {above_zero, 1, 100},
            {0, -1, 100.5}},
           {&CompletionParams::frequency_penalty, "frequency_penalty", {-2, 2}, {-2.001, 2.001}},
           {&CompletionParams::presence_penalty, "presence_penalty", {-2, 2}, {-2.001, 2.001}}}) {
    for (const double value : limits.good) {
      params_.*limits.field = value;
      Valid();
    }
    for (const double value : limits.bad) {
      params_.*limits.field = value;
      EXPECT_EQ(Invalid().param, limits.name) << value;
    }
    for (const double value : {kNan, kInfinity, -kInfinity}) {
      params_.*limits.field = value;
      EXPECT_EQ(Invalid().param, limits.name) << value;
    }
    params_.*limits.field = std::nullopt;
  }
  params_.repetition_penalty = 0;
  ExpectRefused("repetition_penalty",
                "`repetition_penalty` is 0; it must be a finite number in (0, 100]");
}

TEST_F(SamplingRulesTest, WhatIsAboveZeroStaysSoAsAFloat) {
  params_.typical_p = 1e-300;
  params_.repetition_penalty = 1e-300;
  EXPECT_GT(Valid().typical_p, 0.0f);
  EXPECT_GT(Valid().repetition_penalty, 0.0f);
}

TEST_F(SamplingRulesTest, ABiasIsOfAnIdAndHasLimits) {
  params_.logit_bias = {{0, -100}, {259, 100}, {7, 0.5}};
  EXPECT_THAT(Valid().logit_bias, ElementsAre(Pair(0, -100.0f), Pair(259, 100.0f), Pair(7, 0.5f)));
  for (const int64_t id : {int64_t{-1}, int64_t{260}, kHuge}) {
    params_.logit_bias = {{id, 1.0}};
    ExpectRefused("logit_bias", "`logit_bias` names " + std::to_string(id) +
                                    "; it must be a token id in [0, 259]");
  }
  for (const double bias : {-100.5, 100.5, kInfinity, kNan}) {
    params_.logit_bias = {{7, bias}};
    EXPECT_EQ(Invalid().param, "logit_bias");
  }
  params_.logit_bias = {{7, 101}};
  ExpectRefused("logit_bias", "`logit_bias[7]` is 101; it must be a finite number in [-100, 100]");
}

TEST_F(SamplingRulesTest, AllowedIdsAreAMask) {
  params_.allowed_token_ids = {{0, 31, 32, 259, 32}};
  const TokenMask allowed = Valid().allowed;
  EXPECT_THAT(allowed.words(), SizeIs(9));
  std::vector<int32_t> in;
  for (int32_t id = 0; id < 260; ++id) {
    if (allowed.Has(id)) in.push_back(id);
  }
  EXPECT_THAT(in, ElementsAre(0, 31, 32, 259));
  params_.allowed_token_ids = {{5, 260}};
  ExpectRefused("allowed_token_ids",
                "`allowed_token_ids[1]` is 260; it must be a token id in [0, 259]");
  params_.allowed_token_ids = {{-1}};
  EXPECT_EQ(Invalid().param, "allowed_token_ids");
  params_.allowed_token_ids.emplace();
  ExpectRefused("allowed_token_ids",
                "`allowed_token_ids` has 0 ids; it must have at least 1, or be left out to allow "
                "all");
}

TEST_F(SamplingRulesTest, ABadWordIsTokenizedWithAndWithoutASpace) {
  tokenizer_.AddBos();  // is no part of a word
  params_.bad_words = {"ab", "  c", "\n\tab", "xy z"};
  EXPECT_THAT(Valid().bad_words, ElementsAre(ElementsAre(256), ElementsAre(257), ElementsAre('c'),
                                             ElementsAre(' ', 'c'), ElementsAre('x', 'y', ' ', 'z'),
                                             ElementsAre(' ', 'x', 'y', ' ', 'z')));
}

TEST_F(SamplingRulesTest, BadWordsHaveLimits) {
  params_.bad_words.assign(256, std::string(1024, 'x'));
  EXPECT_THAT(Valid().bad_words, SizeIs(2));
  params_.bad_words.emplace_back("y");
  ExpectRefused("bad_words", "`bad_words` has 257 strings; it must have at most 256");
  params_.bad_words = {"a", std::string(1025, 'x')};
  ExpectRefused("bad_words", "`bad_words[1]` has 1025 bytes; it must have 1 to 1024");
  params_.bad_words = {""};
  ExpectRefused("bad_words", "`bad_words[0]` has 0 bytes; it must have 1 to 1024");
  params_.bad_words = {"a", " \n "};
  ExpectRefused("bad_words", "`bad_words[1]` is only spaces; it must have a visible character");
  params_.bad_words = {"\xff"};
  ExpectRefused("bad_words", "`bad_words[0]` is not valid UTF-8; it must be text in UTF-8");
  params_.prompt = std::vector<int64_t>{1};
  model_.vocab_size = 200;
  params_.bad_words = {"ab"};
  EXPECT_EQ(Invalid().param, "bad_words");
}

TEST_F(SamplingRulesTest, UntilMinTokensWhatEndsTheAnswerIsHeldBack) {
  params_.min_tokens = 5;
  params_.stop_token_ids = {7};
  EXPECT_EQ(Valid().min_tokens, 5);
  EXPECT_THAT(Valid().held_back_ids, ElementsAre(7, 259));
  params_.ignore_eos = true;
  EXPECT_THAT(Valid().held_back_ids, ElementsAre(7));
}

TEST_F(SamplingRulesTest, MinTokensAreAtMostMaxTokens) {
  params_.max_tokens = 20;
  for (const int64_t good : {0, 20}) {
    params_.min_tokens = good;
    EXPECT_EQ(Valid().min_tokens, good);
  }
  params_.min_tokens = 21;
  ExpectRefused("min_tokens",
                "`min_tokens` is 21 and at most 20 tokens are made; it must be an integer in "
                "[0, 20], or `max_tokens` larger");
  for (const int64_t bad : {int64_t{-1}, kHuge}) {
    params_.min_tokens = bad;
    EXPECT_EQ(Invalid().param, "min_tokens");
  }
  params_.max_tokens.reset();
  params_.min_tokens = 16;
  Valid();
  params_.min_tokens = 17;
  EXPECT_EQ(Invalid().param, "min_tokens");
}

TEST_F(SamplingRulesTest, IdsThatAllEndTheAnswerCannotMakeMinTokens) {
  params_.allowed_token_ids = {{259, 7}};
  params_.stop_token_ids = {7};
  Valid();
  params_.min_tokens = 1;
  ExpectRefused("allowed_token_ids",
                "`allowed_token_ids` has only ids that end the answer and `min_tokens` is 1; allow "
                "another id, or set `min_tokens` to 0");
  params_.allowed_token_ids = {{259, 7, 8}};
  Valid();
}

TEST_F(SamplingRulesTest, ChosenIdsComeWithLogProbabilities) {
  params_.logprob_token_ids = {9, 3, 9};
  ExpectRefused("logprob_token_ids",
                "`logprob_token_ids` is given without `logprobs`; set `logprobs`, to 0 for these "
                "ids alone, or leave `logprob_token_ids` out");
  params_.logprobs = 0;
  EXPECT_THAT(Valid().log_prob_ids, ElementsAre(9, 3, 9));
  params_.logprob_token_ids.assign(128, 259);
  EXPECT_THAT(Valid().log_prob_ids, SizeIs(128));
  params_.logprob_token_ids.push_back(1);
  ExpectRefused("logprob_token_ids", "`logprob_token_ids` has 129 ids; it must have at most 128");
  params_.logprob_token_ids = {1, 260};
  ExpectRefused("logprob_token_ids",
                "`logprob_token_ids[1]` is 260; it must be a token id in [0, 259]");
}

}  // namespace
}  // namespace affine
