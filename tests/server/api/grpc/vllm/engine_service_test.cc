#include "server/api/grpc/vllm/engine_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "server/api/grpc/vllm/generate_request.h"
#include "tests/server/api/grpc/grpc_fixture.h"

namespace affine {
namespace {

namespace wire = ::vllm::grpc::engine;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

wire::GenerateRequest Asking(const std::vector<uint32_t>& ids, bool stream) {
  wire::GenerateRequest request;
  request.mutable_tokenized()->mutable_input_ids()->Add(ids.begin(), ids.end());
  request.set_request_id("the-id");
  request.set_stream(stream);
  return request;
}

class EngineServiceTest : public GrpcFixture {
 protected:
  void ServeEngine(const std::string& key = "") {
    GrpcServerOptions options;
    options.api_key = key;
    Serve(options);
    engine_stub_ = wire::VllmEngine::NewStub(channel_);
  }

  struct Answer {
    std::vector<wire::GenerateResponse> responses;
    grpc::Status status;
    std::vector<uint32_t> chunk_ids() const {
      std::vector<uint32_t> ids;
      for (const auto& response : responses) {
        ids.insert(ids.end(), response.chunk().token_ids().begin(),
                   response.chunk().token_ids().end());
      }
      return ids;
    }
    const wire::GenerateComplete& complete() const { return responses.back().complete(); }
  };
  static Answer ReadAll(grpc::ClientReader<wire::GenerateResponse>& reader) {
    Answer answer;
    wire::GenerateResponse response;
    while (reader.Read(&response)) answer.responses.push_back(response);
    answer.status = reader.Finish();
    return answer;
  }
  grpc::Status Refusal(const wire::GenerateRequest& request) {
    grpc::ClientContext context;
    return ReadAll(*engine_stub_->Generate(&context, request)).status;
  }

  std::unique_ptr<wire::VllmEngine::Stub> engine_stub_;
};

TEST_F(EngineServiceTest, AStreamBringsNewIdsAndThenTheCompleteAnswer) {
  ServeEngine();
  wire::GenerateRequest request = Asking({'h', 'i'}, true);
  request.mutable_sampling_params()->set_logprobs(1);
  request.mutable_sampling_params()->set_prompt_logprobs(0);
  grpc::ClientContext context;
  auto reader = engine_stub_->Generate(&context, request);
  EXPECT_EQ(engine_.AwaitRequest(1).id, "the-id");
  TokenEvent first;
  first.prompt = {ScriptedEngine::Scored('i')};
  first.tokens = {ScriptedEngine::Scored('a')};
  first.tokens[0].top = {{'z', -0.5f}};
  engine_.Push(1, first);
  wire::GenerateResponse response;
  ASSERT_TRUE(reader->Read(&response));
  const wire::GenerateStreamChunk chunk = response.chunk();
  EXPECT_THAT(chunk.token_ids(), ElementsAre('a'));
  EXPECT_EQ(chunk.prompt_tokens(), 2u);
  EXPECT_EQ(chunk.completion_tokens(), 1u);
  EXPECT_THAT(chunk.output_logprobs().token_logprobs(), ElementsAre(-0.001f * 'a'));
  EXPECT_THAT(chunk.output_logprobs().top_logprobs(0).token_ids(), ElementsAre('z'));
  EXPECT_THAT(chunk.input_logprobs().token_ids(), ElementsAre('h', 'i'));
  EXPECT_FALSE(chunk.input_logprobs().token_logprobs(0).has_value());
  EXPECT_EQ(chunk.input_logprobs().token_logprobs(1).value(), -0.001f * 'i');
  TokenEvent last;
  last.tokens = {ScriptedEngine::Scored('b')};
  last.finish.emplace().reason = FinishReason::kLength;
  last.finish->cached_tokens = 1;
  engine_.Push(1, last);
  const Answer rest = ReadAll(*reader);
  ASSERT_TRUE(rest.status.ok()) << rest.status.error_message();
  EXPECT_THAT(rest.chunk_ids(), ElementsAre('b'));
  EXPECT_FALSE(rest.responses[0].chunk().has_input_logprobs());
  EXPECT_THAT(rest.complete().output_ids(), ElementsAre('a', 'b'));
  EXPECT_EQ(rest.complete().finish_reason(), "length");
  EXPECT_EQ(rest.complete().completion_tokens(), 2u);
  EXPECT_EQ(rest.complete().cached_tokens(), 1u);
  EXPECT_FALSE(rest.complete().has_output_logprobs());
}

TEST_F(EngineServiceTest, WithoutAStreamTheCompleteAnswerComesAlone) {
  ServeEngine();
  wire::GenerateRequest request = Asking({'h', 'i'}, false);
  request.mutable_sampling_params()->set_logprobs(0);
  grpc::ClientContext context;
  auto reader = engine_stub_->Generate(&context, request);
  engine_.AwaitRequest(1);
  for (const char c : {'a', 'b', 'c'}) engine_.Emit(1, {c});
  engine_.Finish(1, FinishReason::kStop);
  const Answer answer = ReadAll(*reader);
  ASSERT_TRUE(answer.status.ok());
  ASSERT_EQ(answer.responses.size(), 1u);
  EXPECT_THAT(answer.complete().output_ids(), ElementsAre('a', 'b', 'c'));
  EXPECT_EQ(answer.complete().finish_reason(), "stop");
  EXPECT_EQ(answer.complete().output_logprobs().token_logprobs_size(), 3);
  EXPECT_EQ(answer.complete().matched_stop_case(), wire::GenerateComplete::MATCHED_STOP_NOT_SET);
}

TEST_F(EngineServiceTest, TellsWhichStopOfTheRequestsOwnEndedIt) {
  ServeEngine();
  wire::GenerateRequest request = Asking({'h'}, false);
  request.mutable_sampling_params()->add_stop("xyz");
  request.mutable_sampling_params()->add_stop("c");
  request.mutable_sampling_params()->add_stop("bc");
  request.mutable_sampling_params()->add_stop_token_ids('q');
  grpc::ClientContext context;
  auto reader = engine_stub_->Generate(&context, request);
  engine_.AwaitRequest(1);
  engine_.Emit(1, {'a', 'b', 'c', 'd'});
  const Answer by_string = ReadAll(*reader);
  EXPECT_THAT(by_string.complete().output_ids(), ElementsAre('a', 'b', 'c'));
  EXPECT_EQ(by_string.complete().finish_reason(), "stop");
  EXPECT_EQ(by_string.complete().matched_stop_str(), "bc");

  grpc::ClientContext second_context;
  auto second = engine_stub_->Generate(&second_context, request);
  engine_.AwaitRequest(2);
  engine_.Emit(2, {'a', 'q'});
  engine_.Finish(2, FinishReason::kStop);
  EXPECT_EQ(ReadAll(*second).complete().matched_token_id(), static_cast<uint32_t>('q'));
}

TEST_F(EngineServiceTest, AbortEndsARunningStreamWithWhatThereIs) {
  ServeEngine();
  grpc::ClientContext context;
  auto reader = engine_stub_->Generate(&context, Asking({'h'}, true));
  engine_.AwaitRequest(1);
  engine_.Emit(1, {'a'});
  wire::GenerateResponse response;
  ASSERT_TRUE(reader->Read(&response));
  wire::AbortRequest abort;
  abort.add_request_ids("another-id");
  abort.add_request_ids("the-id");
  wire::AbortResponse nothing;
  grpc::ClientContext abort_context;
  ASSERT_TRUE(engine_stub_->Abort(&abort_context, abort, &nothing).ok());
  EXPECT_EQ(engine_.AwaitCancel(1).second.value().cause, ErrorCause::kCancelled);
  const Answer rest = ReadAll(*reader);
  EXPECT_TRUE(rest.status.ok()) << rest.status.error_message();
  EXPECT_EQ(rest.complete().finish_reason(), "abort");
  EXPECT_THAT(rest.complete().output_ids(), ElementsAre('a'));
  grpc::ClientContext again_context;
  EXPECT_TRUE(engine_stub_->Abort(&again_context, abort, &nothing).ok());
  EXPECT_EQ(engine_.cancels(), 1u);
}

TEST_F(EngineServiceTest, AnErrorOfTheEngineIsTheCallsStatusAfterTheLastPiece) {
  ServeEngine();
  grpc::ClientContext context;
  auto reader = engine_stub_->Generate(&context, Asking({'h'}, true));
  engine_.AwaitRequest(1);
  TokenEvent event;
  event.tokens = {ScriptedEngine::Scored('a')};
  event.finish.emplace().reason = FinishReason::kError;
  event.finish->error = RequestError{ErrorCause::kNonFinite, "not finite", ""};
  engine_.Push(1, event);
  const Answer answer = ReadAll(*reader);
  EXPECT_THAT(answer.chunk_ids(), ElementsAre('a'));
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(answer.status.error_message(), "not finite");
}

TEST_F(EngineServiceTest, ACancelledCallIsCancelledInTheEngine) {
  ServeEngine();
  grpc::ClientContext context;
  auto reader = engine_stub_->Generate(&context, Asking({'h'}, true));
  engine_.AwaitRequest(1);
  context.TryCancel();
  EXPECT_EQ(engine_.AwaitCancel(1).second.value().cause, ErrorCause::kCancelled);
  EXPECT_EQ(ReadAll(*reader).status.error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(EngineServiceTest, WhatIsNotSupportedIsNamed) {
  ServeEngine();
  const std::vector<std::pair<std::string, std::function<void(wire::GenerateRequest&)>>> cases = {
      {"n", [](auto& r) { r.mutable_sampling_params()->set_n(2); }},
      {"structural_tag", [](auto& r) { r.mutable_sampling_params()->set_structural_tag("{}"); }},
      {"kv_transfer_params", [](auto& r) { r.set_kv_transfer_params_json("{}"); }},
      {"mm_inputs", [](auto& r) { r.mutable_media_refs(); }},
      {"data_parallel_rank", [](auto& r) { r.set_data_parallel_rank(1); }},
  };
  for (const auto& [name, change] : cases) {
    wire::GenerateRequest request = Asking({'h'}, true);
    change(request);
    const grpc::Status status = Refusal(request);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << name;
    EXPECT_THAT(status.error_message(), HasSubstr("`" + name + "`"));
  }
  EXPECT_THAT(Refusal({}).error_message(), HasSubstr("`input` is missing"));
  EXPECT_THAT(Refusal(Asking({4'000'000'000u}, false)).error_message(), HasSubstr("4000000000"));
  EXPECT_EQ(engine_.submitted(), 0u);
  EXPECT_EQ(observer_.refusals().size(), cases.size() + 2);
  EXPECT_EQ(observer_.refusals()[0].first, "the-id");
}

TEST(GenerateRequestTest, EveryConstraintIsAForm) {
  using Kind = StructuredOutput::Kind;
  const auto form = [](auto set) {
    wire::GenerateRequest request = Asking({1}, false);
    set(*request.mutable_sampling_params());
    CompletionParams params;
    EXPECT_FALSE(ReadGenerateRequest(request, params));
    return params.structured_output;
  };
  const auto expect = [](const std::optional<StructuredOutput>& form, Kind kind,
                         const std::string& text, const std::string& field) {
    ASSERT_TRUE(form) << field;
    EXPECT_EQ(form->kind, kind);
    EXPECT_EQ(form->text, text);
    EXPECT_EQ(form->field, field);
  };
  expect(form([](auto& s) { s.set_regex("a*"); }), Kind::kRegex, "a*", "regex");
  expect(form([](auto& s) { s.set_json_schema("{}"); }), Kind::kJsonSchema, "{}", "json_schema");
  expect(form([](auto& s) { s.set_grammar("g"); }), Kind::kGrammar, "g", "grammar");
  expect(form([](auto& s) { s.set_json_object(true); }), Kind::kJsonObject, "", "json_object");
  const auto choice = form([](auto& s) {
    s.mutable_choice()->add_choices("a");
    s.mutable_choice()->add_choices("b");
  });
  expect(choice, Kind::kChoice, "", "choice");
  EXPECT_THAT(choice->choices, ElementsAre("a", "b"));
  EXPECT_FALSE(form([](auto& s) { s.set_json_object(false); }));
}

TEST(GenerateRequestTest, WhatIsLeftOutIsNeutral) {
  CompletionParams params;
  ASSERT_FALSE(ReadGenerateRequest(Asking({1, 2}, false), params));
  EXPECT_THAT(std::get<std::vector<int64_t>>(params.prompt), ElementsAre(1, 2));
  EXPECT_EQ(params.temperature, 1);
  EXPECT_EQ(params.top_p, 1);
  EXPECT_EQ(params.top_k, 0);
  EXPECT_FALSE(params.max_tokens || params.seed || params.logprobs || params.prompt_logprobs);
  EXPECT_EQ(params.min_p, 0);
  EXPECT_EQ(params.repetition_penalty, 1);
  EXPECT_EQ(params.frequency_penalty, 0);
  EXPECT_EQ(params.presence_penalty, 0);
  EXPECT_EQ(params.min_tokens, 0);
  EXPECT_FALSE(params.truncate_prompt_tokens || params.include_stop_str_in_output);
  EXPECT_TRUE(params.logit_bias.empty());
  EXPECT_TRUE(params.up_to_model_len);
  EXPECT_FALSE(params.skip_special_tokens);
}

TEST(GenerateRequestTest, WhatIsGivenIsTaken) {
  wire::GenerateRequest request;
  request.set_text("hi");
  request.set_data_parallel_rank(0);
  wire::SamplingParams& sampling = *request.mutable_sampling_params();
  sampling.set_temperature(0);
  sampling.set_top_p(0.5f);
  sampling.set_top_k(7);
  sampling.set_max_tokens(9);
  sampling.add_stop("x");
  sampling.add_stop_token_ids(4);
  sampling.set_skip_special_tokens(true);
  sampling.set_ignore_eos(true);
  sampling.set_n(1);
  sampling.set_min_p(0.25f);
  sampling.set_repetition_penalty(1.5f);
  sampling.set_frequency_penalty(1);
  sampling.set_presence_penalty(-1);
  sampling.set_min_tokens(3);
  sampling.set_include_stop_str_in_output(true);
  (*sampling.mutable_logit_bias())[5] = 1;
  (*sampling.mutable_logit_bias())[2] = -1;
  sampling.set_truncate_prompt_tokens(8);
  sampling.set_logprobs(-1);
  sampling.set_seed(-2);
  CompletionParams params;
  ASSERT_FALSE(ReadGenerateRequest(request, params));
  EXPECT_EQ(std::get<std::string>(params.prompt), "hi");
  EXPECT_EQ(params.temperature, 0);
  EXPECT_EQ(params.top_p, 0.5);
  EXPECT_EQ(params.top_k, 7);
  EXPECT_EQ(params.min_p, 0.25);
  EXPECT_EQ(params.repetition_penalty, 1.5);
  EXPECT_EQ(params.frequency_penalty, 1);
  EXPECT_EQ(params.presence_penalty, -1);
  EXPECT_EQ(params.min_tokens, 3);
  EXPECT_TRUE(params.include_stop_str_in_output);
  EXPECT_THAT(params.logit_bias, ElementsAre(Pair(2, -1), Pair(5, 1)));
  EXPECT_EQ(params.truncate_prompt_tokens, 8);
  EXPECT_EQ(params.max_tokens, 9);
  EXPECT_THAT(params.stop, ElementsAre("x"));
  EXPECT_THAT(params.stop_token_ids, ElementsAre(4));
  EXPECT_TRUE(params.skip_special_tokens && params.ignore_eos);
  EXPECT_EQ(params.logprobs, -1);
  EXPECT_EQ(params.seed, static_cast<uint64_t>(-2));
}

TEST_F(EngineServiceTest, WithoutMaxTokensThereAreAsManyAsTheModelLeaves) {
  ServeEngine();
  grpc::ClientContext context;
  auto reader = engine_stub_->Generate(&context, Asking({'h', 'i'}, false));
  EXPECT_EQ(engine_.AwaitRequest(1).max_tokens, 62);
  engine_.Finish(1, FinishReason::kStop);
  EXPECT_TRUE(ReadAll(*reader).status.ok());
}

TEST_F(EngineServiceTest, DescribesModelServerAndLoad) {
  ServeEngine();
  wire::GetModelInfoResponse model;
  grpc::ClientContext model_context;
  ASSERT_TRUE(engine_stub_->GetModelInfo(&model_context, {}, &model).ok());
  EXPECT_EQ(model.served_model_name(), "tiny");
  EXPECT_TRUE(model.is_generation());
  EXPECT_EQ(model.max_context_length(), 64u);
  EXPECT_EQ(model.model_type(), "llama");
  EXPECT_THAT(model.eos_token_ids(), ElementsAre(tokenizer_.vocab_size() - 1));
  EXPECT_EQ(model.default_sampling_params_json(),
            "{\"temperature\":0.5,\"top_p\":0.25,\"top_k\":7}");

  wire::GetServerInfoResponse server;
  grpc::ClientContext server_context;
  ASSERT_TRUE(engine_stub_->GetServerInfo(&server_context, {}, &server).ok());
  EXPECT_EQ(server.block_size(), 16);
  EXPECT_EQ(server.last_receive_timestamp(), 0);

  wire::GetLoadsRequest request;
  wire::GetLoadsResponse loads;
  grpc::ClientContext loads_context;
  ASSERT_TRUE(engine_stub_->GetLoads(&loads_context, request, &loads).ok());
  EXPECT_EQ(loads.version(), "1.2.3");
  EXPECT_EQ(loads.loads_size(), 1);
  request.set_dp_rank(1);
  grpc::ClientContext other_context;
  ASSERT_TRUE(engine_stub_->GetLoads(&other_context, request, &loads).ok());
  EXPECT_EQ(loads.loads_size(), 0);
}

TEST_F(EngineServiceTest, TheKeyGuardsEverythingButHealth) {
  ServeEngine("secret");
  EXPECT_EQ(Refusal(Asking({'h'}, true)).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  wire::AbortResponse nothing;
  grpc::ClientContext abort_context;
  EXPECT_EQ(engine_stub_->Abort(&abort_context, {}, &nothing).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  wire::HealthCheckResponse health;
  grpc::ClientContext context;
  ASSERT_TRUE(engine_stub_->HealthCheck(&context, {}, &health).ok());
  EXPECT_TRUE(health.healthy());
  models_.CloseForDrain();
  grpc::ClientContext draining_context;
  ASSERT_TRUE(engine_stub_->HealthCheck(&draining_context, {}, &health).ok());
  EXPECT_FALSE(health.healthy());
}

}  // namespace
}  // namespace affine
