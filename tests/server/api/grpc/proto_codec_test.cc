#include "server/api/grpc/proto_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/request/byte_tokenizer.h"
#include "tests/server/request/scripted_engine.h"

namespace affine {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

CompletionParams Params(const v1::CompleteRequest& request) {
  return std::get<CompletionParams>(ParamsOf(request));
}

TEST(ProtoCodecTest, AConversationIsAPrompt) {
  v1::CompleteRequest request;
  v1::Chat& chat = *request.mutable_chat();
  v1::ChatMessage& message = *chat.add_messages();
  message.set_role("user");
  message.set_content("hi");
  message.set_name("Ann");
  const auto read = [&request] { return std::get<ChatPrompt>(Params(request).prompt); };
  ASSERT_EQ(read().messages.size(), 1u);
  EXPECT_EQ(read().messages[0].role, "user");
  EXPECT_EQ(read().messages[0].content, "hi");
  EXPECT_EQ(read().messages[0].name, "Ann");
  EXPECT_EQ(read().add_generation_prompt, std::nullopt);
  EXPECT_FALSE(read().continue_final_message);
  chat.set_add_generation_prompt(false);
  chat.set_continue_final_message(true);
  chat.set_chat_template_kwargs("{}");
  EXPECT_EQ(read().add_generation_prompt, false);
  EXPECT_TRUE(read().continue_final_message);
  EXPECT_EQ(read().template_kwargs, "{}");
}

TEST(ProtoCodecTest, WhatIsAbsentStaysAbsent) {
  v1::CompleteRequest request;
  request.set_text("hi");
  const CompletionParams params = Params(request);
  EXPECT_EQ(std::get<std::string>(params.prompt), "hi");
  EXPECT_FALSE(params.max_tokens || params.temperature || params.top_k || params.top_p);
  EXPECT_FALSE(params.seed || params.logprobs || params.prompt_logprobs || params.timeout_ms);
  EXPECT_FALSE(params.min_p || params.typical_p || params.repetition_penalty);
  EXPECT_FALSE(params.frequency_penalty || params.presence_penalty || params.min_tokens);
  EXPECT_FALSE(params.allowed_token_ids || params.truncate_prompt_tokens);
  EXPECT_FALSE(params.structured_output);
  EXPECT_TRUE(params.logit_bias.empty() && params.bad_words.empty());
  EXPECT_TRUE(params.logprob_token_ids.empty());
  EXPECT_FALSE(params.include_stop_str_in_output);
  EXPECT_TRUE(params.skip_special_tokens);
  EXPECT_FALSE(params.echo || params.ignore_eos || params.stability || params.stability_heads);
}

TEST(ProtoCodecTest, ZeroIsNotAbsent) {
  v1::CompleteRequest request;
  request.set_text("");
  request.set_max_tokens(0);
  request.mutable_sampling()->set_temperature(0);
  request.mutable_sampling()->set_top_k(-1);
  request.mutable_sampling()->set_top_p(0);
  request.mutable_sampling()->set_seed(0);
  request.mutable_sampling()->set_min_p(0);
  request.mutable_sampling()->set_typical_p(0);
  request.mutable_sampling()->set_repetition_penalty(0);
  request.mutable_sampling()->set_frequency_penalty(0);
  request.mutable_sampling()->set_presence_penalty(0);
  request.mutable_sampling()->set_min_tokens(0);
  request.mutable_sampling()->mutable_allowed_token_ids();
  request.set_truncate_prompt_tokens(0);
  request.set_logprobs(0);
  request.set_prompt_logprobs(0);
  request.set_timeout_ms(0);
  request.set_max_ttft_ms(90);
  request.set_max_time_per_token_ms(2.5f);
  request.set_n(3);
  request.set_best_of(4);
  request.set_skip_special_tokens(false);
  const CompletionParams params = Params(request);
  EXPECT_EQ(params.max_tokens, 0);
  EXPECT_EQ(params.temperature, 0);
  EXPECT_EQ(params.top_k, -1);
  EXPECT_EQ(params.top_p, 0);
  EXPECT_EQ(params.seed, 0u);
  EXPECT_EQ(params.min_p, 0);
  EXPECT_EQ(params.typical_p, 0);
  EXPECT_EQ(params.repetition_penalty, 0);
  EXPECT_EQ(params.frequency_penalty, 0);
  EXPECT_EQ(params.presence_penalty, 0);
  EXPECT_EQ(params.min_tokens, 0);
  EXPECT_THAT(params.allowed_token_ids.value(), ElementsAre());
  EXPECT_EQ(params.truncate_prompt_tokens, 0);
  EXPECT_EQ(params.logprobs, 0);
  EXPECT_EQ(params.prompt_logprobs, 0);
  EXPECT_EQ(params.timeout_ms, 0);
  EXPECT_EQ(params.max_ttft_ms, 90);
  EXPECT_EQ(params.max_time_per_token_ms, 2.5);
  EXPECT_EQ(params.n, 3);
  EXPECT_EQ(params.best_of, 4);
  EXPECT_FALSE(params.skip_special_tokens);
}

TEST(ProtoCodecTest, EveryOtherFieldIsTaken) {
  v1::CompleteRequest request;
  request.set_model("m");
  request.mutable_token_ids()->add_ids(5);
  request.mutable_token_ids()->add_ids(4'000'000'000u);
  request.set_max_tokens(4'000'000'000u);
  request.add_stop("a");
  request.add_stop("b");
  request.add_stop_token_ids(4'000'000'000u);
  request.set_ignore_eos(true);
  request.set_echo(true);
  request.set_request_id("id");
  request.set_priority(-3);
  request.set_cache_salt("salt");
  request.set_stability(true);
  request.set_stability_heads(true);
  const CompletionParams params = Params(request);
  EXPECT_EQ(params.model, "m");
  EXPECT_THAT(std::get<std::vector<int64_t>>(params.prompt), ElementsAre(5, 4'000'000'000));
  EXPECT_EQ(params.max_tokens, 4'000'000'000);
  EXPECT_THAT(params.stop, ElementsAre("a", "b"));
  EXPECT_THAT(params.stop_token_ids, ElementsAre(4'000'000'000));
  EXPECT_TRUE(params.ignore_eos && params.echo);
  EXPECT_EQ(params.request_id, "id");
  EXPECT_EQ(params.priority, -3);
  EXPECT_EQ(params.cache_salt, "salt");
  EXPECT_TRUE(params.stability && params.stability_heads);
}

TEST(ProtoCodecTest, EveryParameterOfSamplingIsTaken) {
  v1::CompleteRequest request;
  request.set_text("x");
  v1::SamplingParams& sampling = *request.mutable_sampling();
  sampling.set_min_p(0.25f);
  sampling.set_typical_p(0.5f);
  sampling.set_repetition_penalty(1.25f);
  sampling.set_frequency_penalty(-0.5f);
  sampling.set_presence_penalty(0.75f);
  (*sampling.mutable_logit_bias())[4'000'000'000u] = 1.5f;
  (*sampling.mutable_logit_bias())[7] = -100.0f;
  sampling.mutable_allowed_token_ids()->add_ids(4'000'000'000u);
  sampling.add_bad_words("bad");
  sampling.add_bad_words("worse");
  sampling.set_min_tokens(4'000'000'000u);
  request.set_include_stop_str_in_output(true);
  request.add_logprob_token_ids(4'000'000'000u);
  request.add_logprob_token_ids(3);
  request.set_truncate_prompt_tokens(-1);
  const CompletionParams params = Params(request);
  EXPECT_EQ(params.min_p, 0.25);
  EXPECT_EQ(params.typical_p, 0.5);
  EXPECT_EQ(params.repetition_penalty, 1.25);
  EXPECT_EQ(params.frequency_penalty, -0.5);
  EXPECT_EQ(params.presence_penalty, 0.75);
  EXPECT_THAT(params.logit_bias, ElementsAre(Pair(7, -100.0), Pair(4'000'000'000, 1.5)));
  EXPECT_THAT(params.allowed_token_ids.value(), ElementsAre(4'000'000'000));
  EXPECT_THAT(params.bad_words, ElementsAre("bad", "worse"));
  EXPECT_EQ(params.min_tokens, 4'000'000'000);
  EXPECT_TRUE(params.include_stop_str_in_output);
  EXPECT_THAT(params.logprob_token_ids, ElementsAre(4'000'000'000, 3));
  EXPECT_EQ(params.truncate_prompt_tokens, -1);
}

TEST(ProtoCodecTest, EveryFormOfOutput) {
  using Kind = StructuredOutput::Kind;
  const auto form = [](auto set) {
    v1::CompleteRequest request;
    request.set_text("x");
    set(*request.mutable_structured_output());
    return Params(request).structured_output;
  };
  const auto expect = [](const std::optional<StructuredOutput>& form, Kind kind,
                         const std::string& text, const std::string& name) {
    ASSERT_TRUE(form) << name;
    EXPECT_EQ(form->kind, kind);
    EXPECT_EQ(form->text, text);
    EXPECT_EQ(form->field, "structured_output." + name);
  };
  expect(form([](auto& f) { f.set_regex("a*"); }), Kind::kRegex, "a*", "regex");
  expect(form([](auto& f) { f.set_json_schema("{}"); }), Kind::kJsonSchema, "{}", "json_schema");
  expect(form([](auto& f) { f.set_grammar("g"); }), Kind::kGrammar, "g", "grammar");
  expect(form([](auto& f) { f.set_json_object(true); }), Kind::kJsonObject, "", "json_object");
  const auto choice = form([](auto& f) { *f.mutable_choice()->add_choices() = "a"; });
  expect(choice, Kind::kChoice, "", "choice");
  EXPECT_THAT(choice->choices, ElementsAre("a"));
  EXPECT_FALSE(form([](auto& f) { f.set_json_object(false); }));
  v1::CompleteRequest empty;
  empty.set_text("x");
  empty.mutable_structured_output();
  const auto refused = ParamsOf(empty);
  ASSERT_TRUE(std::holds_alternative<RequestError>(refused));
  EXPECT_EQ(std::get<RequestError>(refused).param, "structured_output");
}

TEST(ProtoCodecTest, ARequestWithoutAPromptIsRefused) {
  const auto error = std::get<RequestError>(ParamsOf(v1::CompleteRequest()));
  EXPECT_EQ(error.cause, ErrorCause::kBadInput);
  EXPECT_EQ(error.param, "prompt");
}

TEST(ProtoCodecTest, DescribesAModelAndItsAttention) {
  const ByteTokenizer tokenizer;
  ModelInfo info = SmallModelInfo(tokenizer);
  info.attention.denominator = Denominator::kLearnedSink;
  info.attention.affine = AffineScale{AlphaActivation::kSigmoid, 2048};
  info.attention.gate = Gate::kHeadwise;
  info.num_parameters = 5'000'000'000;
  ScriptedEngine engine(info);
  v1::ModelDescription message = DescriptionOf({"tiny", &engine, &tokenizer, 0}, "1.0");
  EXPECT_EQ(message.name(), "tiny");
  EXPECT_EQ(message.attention().denominator(), "learned_sink");
  EXPECT_EQ(message.attention().alpha_activation(), "sigmoid");
  EXPECT_EQ(message.attention().fixed_normalizer(), 2048u);
  EXPECT_EQ(message.attention().gate(), "headwise");
  EXPECT_EQ(message.num_parameters(), 5'000'000'000u);
  EXPECT_EQ(message.vocab_size(), 258u);
  EXPECT_THAT(message.eos_token_ids(), ElementsAre(257));
  EXPECT_FALSE(message.has_bos_token_id());
  EXPECT_EQ(message.server_version(), "1.0");

  info.attention = {};
  info.bos_token_id = 0;
  ScriptedEngine plain(info);
  message = DescriptionOf({"tiny", &plain, &tokenizer, 0}, "1.0");
  EXPECT_EQ(message.attention().denominator(), "softmax");
  EXPECT_EQ(message.attention().alpha_activation(), "none");
  EXPECT_EQ(message.attention().gate(), "none");
  EXPECT_TRUE(message.has_bos_token_id());
}

}  // namespace
}  // namespace affine
