#include "server/api/http/completion_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace affine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

CompletionBody Parsed(std::string_view text) {
  auto result = ParseCompletionBody(text);
  if (const auto* error = std::get_if<RequestError>(&result)) {
    ADD_FAILURE() << text << ": " << error->message;
    return {};
  }
  return std::get<CompletionBody>(std::move(result));
}

RequestError Refused(const std::string& text) {
  auto result = ParseCompletionBody(text);
  const auto* error = std::get_if<RequestError>(&result);
  if (error == nullptr) {
    ADD_FAILURE() << text << " was taken";
    return {};
  }
  EXPECT_EQ(error->cause, ErrorCause::kBadInput);
  return *error;
}

std::string WithPrompt(const std::string& member) { return "{\"prompt\": \"x\", " + member + "}"; }

TEST(CompletionCodecTest, ReadsEveryField) {
  const CompletionBody body = Parsed(R"({
      "model": "tiny", "prompt": "say", "max_tokens": 0, "temperature": 0, "top_p": 0.5, "top_k": -1,
      "seed": 18446744073709551615, "stop": ["a", "b"], "stop_token_ids": [1, 2],
      "ignore_eos": true, "echo": true, "logprobs": 3, "prompt_logprobs": 0, "stream": true,
      "stream_options": {"include_usage": true}, "return_token_ids": true,
      "skip_special_tokens": false, "request_id": "r", "priority": -5, "cache_salt": "salt",
      "timeout_ms": 250, "max_ttft_ms": 90, "max_time_per_token_ms": 2.5, "stability": true, "stability_heads": true, "user": "someone", "a field of tomorrow": {"x": 1}})");
  const CompletionParams& params = body.params;
  EXPECT_EQ(params.model, "tiny");
  EXPECT_EQ(std::get<std::string>(params.prompt), "say");
  EXPECT_EQ(params.max_tokens, 0);
  EXPECT_EQ(params.temperature, 0.0);
  EXPECT_EQ(params.top_p, 0.5);
  EXPECT_EQ(params.top_k, -1);
  EXPECT_EQ(params.seed, UINT64_MAX);
  EXPECT_THAT(params.stop, ElementsAre("a", "b"));
  EXPECT_THAT(params.stop_token_ids, ElementsAre(1, 2));
  EXPECT_TRUE(params.ignore_eos);
  EXPECT_TRUE(params.echo);
  EXPECT_EQ(params.logprobs, 3);
  EXPECT_EQ(params.prompt_logprobs, 0);
  EXPECT_FALSE(params.skip_special_tokens);
  EXPECT_EQ(params.request_id, "r");
  EXPECT_EQ(params.priority, -5);
  EXPECT_EQ(params.cache_salt, "salt");
  EXPECT_EQ(params.timeout_ms, 250);
  EXPECT_EQ(params.max_ttft_ms, 90);
  EXPECT_EQ(params.max_time_per_token_ms, 2.5);
  EXPECT_TRUE(params.stability);
  EXPECT_TRUE(params.stability_heads);
  EXPECT_TRUE(body.stream);
  EXPECT_TRUE(body.include_usage);
  EXPECT_TRUE(body.return_token_ids);
}

TEST(CompletionCodecTest, ReadsEveryParameterOfSampling) {
  const CompletionParams params = Parsed(R"({"prompt": "x", "min_p": 0.25, "typical_p": 0.5,
      "repetition_penalty": 1.25, "frequency_penalty": -0.5, "presence_penalty": 2,
      "logit_bias": {"7": -100, "4000000000": 1.5, "-1": 0}, "allowed_token_ids": [5, 2],
      "bad_words": ["bad", "worse"], "min_tokens": 3, "include_stop_str_in_output": true,
      "logprobs": 0, "logprob_token_ids": [9, 8], "truncate_prompt_tokens": -1})")
                                      .params;
  EXPECT_EQ(params.min_p, 0.25);
  EXPECT_EQ(params.typical_p, 0.5);
  EXPECT_EQ(params.repetition_penalty, 1.25);
  EXPECT_EQ(params.frequency_penalty, -0.5);
  EXPECT_EQ(params.presence_penalty, 2.0);
  EXPECT_THAT(params.logit_bias,
              UnorderedElementsAre(Pair(7, -100.0), Pair(4'000'000'000, 1.5), Pair(-1, 0.0)));
  EXPECT_THAT(params.allowed_token_ids.value(), ElementsAre(5, 2));
  EXPECT_THAT(params.bad_words, ElementsAre("bad", "worse"));
  EXPECT_EQ(params.min_tokens, 3);
  EXPECT_TRUE(params.include_stop_str_in_output);
  EXPECT_THAT(params.logprob_token_ids, ElementsAre(9, 8));
  EXPECT_EQ(params.truncate_prompt_tokens, -1);
}

TEST(CompletionCodecTest, TellsNothingZeroAndNeutralApart) {
  const CompletionParams absent = Parsed(WithPrompt(R"("min_p": null, "typical_p": null,
      "repetition_penalty": null, "frequency_penalty": null, "presence_penalty": null,
      "logit_bias": null, "allowed_token_ids": null, "bad_words": null, "min_tokens": null,
      "include_stop_str_in_output": null, "logprob_token_ids": null,
      "truncate_prompt_tokens": null)"))
                                      .params;
  EXPECT_FALSE(absent.min_p || absent.typical_p || absent.repetition_penalty);
  EXPECT_FALSE(absent.frequency_penalty || absent.presence_penalty || absent.min_tokens);
  EXPECT_FALSE(absent.allowed_token_ids || absent.truncate_prompt_tokens);
  EXPECT_FALSE(absent.include_stop_str_in_output);
  const CompletionParams zero = Parsed(WithPrompt(R"("min_p": 0, "repetition_penalty": 1.0,
      "frequency_penalty": 0, "allowed_token_ids": [], "min_tokens": 0, "logit_bias": {},
      "truncate_prompt_tokens": 0)"))
                                    .params;
  EXPECT_EQ(zero.min_p, 0.0);
  EXPECT_EQ(zero.repetition_penalty, 1.0);
  EXPECT_EQ(zero.frequency_penalty, 0.0);
  EXPECT_TRUE(zero.allowed_token_ids.value().empty());
  EXPECT_EQ(zero.min_tokens, 0);
  EXPECT_EQ(zero.truncate_prompt_tokens, 0);
}

TEST(CompletionCodecTest, NullIsAsIfLeftOut) {
  const CompletionBody body = Parsed(R"({"prompt": "x", "model": null, "max_tokens": null,
      "temperature": null, "top_p": null, "top_k": null, "seed": null, "stop": null,
      "stop_token_ids": null, "logprobs": null, "stream": null, "stream_options": null, "n": null,
      "best_of": null, "suffix": null, "logit_bias": null, "presence_penalty": null,
      "echo": null, "skip_special_tokens": null, "stability": null, "stability_heads": null})");
  EXPECT_EQ(body.params.max_tokens, std::nullopt);
  EXPECT_EQ(body.params.temperature, std::nullopt);
  EXPECT_EQ(body.params.seed, std::nullopt);
  EXPECT_TRUE(body.params.stop.empty());
  EXPECT_TRUE(body.params.skip_special_tokens);
  EXPECT_FALSE(body.stream);
}

TEST(CompletionCodecTest, TakesAPromptInEachOfItsShapes) {
  EXPECT_EQ(std::get<std::string>(Parsed(R"({"prompt": ["say"]})").params.prompt), "say");
  for (const char* text : {R"({"prompt": [1, 2]})", R"({"prompt": [[1, 2]]})"}) {
    EXPECT_THAT(std::get<std::vector<int64_t>>(Parsed(text).params.prompt), ElementsAre(1, 2));
  }
  // Left to the check that gRPC shares.
  EXPECT_TRUE(std::get<std::vector<int64_t>>(Parsed(R"({"prompt": []})").params.prompt).empty());
}

TEST(CompletionCodecTest, TakesWholeNumbersWrittenAsFractionsAndNegativeSeeds) {
  EXPECT_EQ(Parsed(WithPrompt("\"max_tokens\": 16.0")).params.max_tokens, 16);
  EXPECT_EQ(Parsed(WithPrompt("\"seed\": -1")).params.seed, UINT64_MAX);
  EXPECT_THAT(Parsed(WithPrompt("\"stop\": \"one\"")).params.stop, ElementsAre("one"));
}

TEST(CompletionCodecTest, ForTheLogNoValueIsRepeated) {
  for (const auto& [text, logged] : std::vector<std::pair<std::string, std::string>>{
           {R"({"prompt": {"text": "secret"}})",
            "`prompt` is an object of 1 members; it must be a string, an array of token ids, or an "
            "array of such prompts"},
           {R"({"prompt": [1, "secret"]})",
            "`prompt[1]` is a string of 6 bytes; it must be an integer from -2^63 to 2^63 - 1"},
           {WithPrompt(R"("suffix": "secret")"),
            "`suffix` is a string of 6 bytes; it is not supported yet, only \"\" is accepted; put "
            "all that the answer is to heed into the prompt"},
           {R"({"prompt": "x", "stream": true, "stream_options": {"include_usage": "secret"}})",
            "`stream_options.include_usage` is a string of 6 bytes; it must be true or false"}}) {
    const RequestError error = Refused(text);
    EXPECT_THAT(error.message, HasSubstr("secret"));
    EXPECT_EQ(error.MessageForLog(), logged);
  }
}

struct BadField {
  const char* member;
  const char* param;
  const char* message;
};

class CompletionCodecBadFieldTest : public ::testing::TestWithParam<BadField> {};

TEST_P(CompletionCodecBadFieldTest, IsNamedWithItsValueAndWhatIsAllowed) {
  const RequestError error = Refused(WithPrompt(GetParam().member));
  EXPECT_EQ(error.param, GetParam().param);
  EXPECT_THAT(error.message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Types, CompletionCodecBadFieldTest,
    ::testing::Values(
        BadField{R"("model": 3)", "model", "`model` is 3; it must be a string"},
        BadField{R"("max_tokens": "16")", "max_tokens",
                 "`max_tokens` is \"16\"; it must be an integer"},
        BadField{R"("max_tokens": 1.5)", "max_tokens",
                 "`max_tokens` is 1.5; it must be an integer"},
        BadField{R"("max_tokens": 9223372036854775808)", "max_tokens", "from -2^63 to 2^63 - 1"},
        BadField{R"("max_tokens": 1e300)", "max_tokens", "is 1e+300; it must be an integer"},
        BadField{R"("max_tokens": true)", "max_tokens", "`max_tokens` is true"},
        BadField{R"("temperature": "hot")", "temperature", "is \"hot\"; it must be a number"},
        BadField{R"("top_p": [0.5])", "top_p", "`top_p` is [0.5]; it must be a number"},
        BadField{R"("top_k": {})", "top_k", "`top_k` is {}; it must be an integer"},
        BadField{R"("seed": 18446744073709551616)", "seed", "from -2^63 to 2^64 - 1"},
        BadField{R"("seed": "x")", "seed", "`seed` is \"x\""},
        BadField{R"("stop": 5)", "stop", "is 5; it must be a string or an array of strings"},
        BadField{R"("stop": ["a", 5])", "stop", "`stop[1]` is 5; it must be a string"},
        BadField{R"("stop_token_ids": 5)", "stop_token_ids", "it must be an array of integers"},
        BadField{R"("stop_token_ids": [1, "a"])", "stop_token_ids", "`stop_token_ids[1]` is \"a\""},
        BadField{R"("ignore_eos": 1)", "ignore_eos", "is 1; it must be true or false"},
        BadField{R"("echo": "yes")", "echo", "is \"yes\"; it must be true or false"},
        BadField{R"("logprobs": true)", "logprobs", "is true; it must be an integer"},
        BadField{R"("prompt_logprobs": "1")", "prompt_logprobs", "it must be an integer"},
        BadField{R"("stream": "true")", "stream", "is \"true\"; it must be true or false"},
        BadField{R"("return_token_ids": 0)", "return_token_ids", "it must be true or false"},
        BadField{R"("skip_special_tokens": 0)", "skip_special_tokens", "it must be true or false"},
        BadField{R"("request_id": 7)", "request_id", "it must be a string"},
        BadField{R"("priority": "high")", "priority", "it must be an integer"},
        BadField{R"("cache_salt": 1)", "cache_salt", "it must be a string"},
        BadField{R"("timeout_ms": "1s")", "timeout_ms", "it must be an integer"},
        BadField{R"("stability": 1)", "stability", "`stability` is 1; it must be true or false"},
        BadField{R"("stability": true, "stability_heads": "all")", "stability_heads",
                 "`stability_heads` is \"all\"; it must be true or false"},
        BadField{R"("min_p": "low")", "min_p", "`min_p` is \"low\"; it must be a number"},
        BadField{R"("logit_bias": [1])", "logit_bias",
                 "`logit_bias` is [1]; it must be an object from token ids to numbers"},
        BadField{R"("logit_bias": {"the": 1})", "logit_bias",
                 "`logit_bias[key 0]` is \"the\"; it must be a token id in quotation marks"},
        BadField{R"("logit_bias": {"05": 1})", "logit_bias", "is \"05\"; it must be a token id"},
        BadField{R"("logit_bias": {"5 ": 1})", "logit_bias", "is \"5 \"; it must be a token id"},
        BadField{R"("logit_bias": {"5": "1"})", "logit_bias",
                 "`logit_bias[5]` is \"1\"; it must be a number"},
        BadField{R"("allowed_token_ids": 5)", "allowed_token_ids", "an array of integers"},
        BadField{R"("allowed_token_ids": [0.5])", "allowed_token_ids", "`allowed_token_ids[0]`"},
        BadField{R"("bad_words": 5)", "bad_words", "a string or an array of strings"},
        BadField{R"("min_tokens": 0.5)", "min_tokens", "it must be an integer"},
        BadField{R"("include_stop_str_in_output": 1)", "include_stop_str_in_output",
                 "it must be true or false"},
        BadField{R"("logprob_token_ids": "5")", "logprob_token_ids", "an array of integers"},
        BadField{R"("truncate_prompt_tokens": "all")", "truncate_prompt_tokens", "an integer"},
        BadField{R"("stream": true, "stream_options": 1)", "stream_options",
                 "it must be an object"},
        BadField{R"("stream_options": {})", "stream_options", "without \"stream\": true"},
        BadField{R"("stream": true, "stream_options": {"include_usage": 1})", "stream_options",
                 "`stream_options.include_usage` is 1; it must be true or false"},
        BadField{R"("stream": true, "stream_options": {"continuous_usage_stats": "yes"})",
                 "stream_options",
                 "`stream_options.continuous_usage_stats` is \"yes\"; it must be"},
        BadField{R"("n": "2")", "n", "`n` is \"2\"; it must be an integer"},
        BadField{R"("best_of": 1.5)", "best_of", "`best_of` is 1.5; it must be an integer"}));

INSTANTIATE_TEST_SUITE_P(
    NotThereYet, CompletionCodecBadFieldTest,
    ::testing::Values(
        BadField{R"("suffix": "end")", "suffix", "`suffix` is \"end\"; it is not supported yet"},
        BadField{R"("truncation_side": "right")", "truncation_side", "only \"left\" is accepted"},
        BadField{R"("add_special_tokens": false)", "add_special_tokens", "POST /tokenize"},
        BadField{R"("logits_processors": ["a"])", "logits_processors", "not supported yet"}));

TEST(CompletionCodecTest, TakesWhatIsNotThereYetAtItsNeutralValue) {
  Parsed(WithPrompt(R"("suffix": "", "truncation_side": "left",
      "response_format": {"type": "text"}, "add_special_tokens": true, "use_beam_search": false)"));
}

TEST(CompletionCodecTest, NamesWhatIsWrongWithAPrompt) {
  const std::pair<const char*, const char*> cases[] = {
      {"{}", "`prompt` is missing; it must be a string, an array of token ids"},
      {R"({"prompt": null})", "`prompt` is missing"},
      {R"({"prompt": 5})", "`prompt` is 5; it must be a string"},
      {R"({"prompt": {"a": 1}})", "`prompt` is {\"a\":1}"},
      {R"({"prompt": ["a", 1]})", "`prompt[1]` is 1; it must be a string or an array of token ids"},
      {R"({"prompt": [[1], [2, 0.5]]})", "`prompt[1][1]` is 0.5"},
      {R"({"prompt": [1, "b"]})", "`prompt[1]` is \"b\"; it must be an integer"},
      {R"({"prompt": [1, null]})", "`prompt[1]` is null"},
      {R"({"prompt": [1.5]})", "`prompt[0]` is 1.5"},
      {R"({"prompt": [true]})", "`prompt[0]` is true"},
      {R"({"prompt": [[1, "b"]]})", "`prompt[0][1]` is \"b\""},
  };
  for (const auto& [text, message] : cases) {
    const RequestError error = Refused(text);
    EXPECT_THAT(error.message, HasSubstr(message));
    EXPECT_EQ(error.param, "prompt") << text;
  }
}

TEST(CompletionCodecTest, ReadsSeveralPromptsAndAnswers) {
  const CompletionBody body = Parsed(R"({"prompt": ["a", [1, 2], "c"], "n": 2, "best_of": 3})");
  EXPECT_EQ(std::get<std::string>(body.params.prompt), "a");
  ASSERT_EQ(body.params.more_prompts.size(), 2u);
  EXPECT_EQ(std::get<std::vector<int64_t>>(body.params.more_prompts[0]),
            (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(std::get<std::string>(body.params.more_prompts[1]), "c");
  EXPECT_EQ(body.params.n, 2);
  EXPECT_EQ(body.params.best_of, 3);
  EXPECT_FALSE(body.params.stream);
}

TEST(CompletionCodecTest, UsageInEveryEventGoesWithUsageAtTheEnd) {
  const auto continuous = [](const std::string& options) {
    return Parsed(R"({"prompt": "x", "stream": true, "stream_options": )" + options + "}")
        .continuous_usage;
  };
  EXPECT_TRUE(continuous(R"({"include_usage": true, "continuous_usage_stats": true})"));
  EXPECT_FALSE(continuous(R"({"continuous_usage_stats": true})"));
  EXPECT_FALSE(continuous(R"({"include_usage": true})"));
}

TEST(CompletionCodecTest, TellsOfTheFirstMistakeAlone) {
  EXPECT_EQ(Refused(R"({"prompt": 1, "max_tokens": "x", "n": 5})").param, "prompt");
}

}  // namespace
}  // namespace affine
