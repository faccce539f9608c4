#include "server/api/grpc/proto_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/request/byte_tokenizer.h"
#include "tests/server/request/scripted_engine.h"

namespace affine {
namespace {

using ::testing::ElementsAre;

CompletionParams Params(const v1::CompleteRequest& request) {
  return std::get<CompletionParams>(ParamsOf(request));
}

TEST(ProtoCodecTest, WhatIsAbsentStaysAbsent) {
  v1::CompleteRequest request;
  request.set_text("hi");
  const CompletionParams params = Params(request);
  EXPECT_EQ(std::get<std::string>(params.prompt), "hi");
  EXPECT_FALSE(params.max_tokens || params.temperature || params.top_k || params.top_p);
  EXPECT_FALSE(params.seed || params.logprobs || params.prompt_logprobs || params.timeout_ms);
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
  request.set_logprobs(0);
  request.set_prompt_logprobs(0);
  request.set_timeout_ms(0);
  request.set_skip_special_tokens(false);
  const CompletionParams params = Params(request);
  EXPECT_EQ(params.max_tokens, 0);
  EXPECT_EQ(params.temperature, 0);
  EXPECT_EQ(params.top_k, -1);
  EXPECT_EQ(params.top_p, 0);
  EXPECT_EQ(params.seed, 0u);
  EXPECT_EQ(params.logprobs, 0);
  EXPECT_EQ(params.prompt_logprobs, 0);
  EXPECT_EQ(params.timeout_ms, 0);
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
