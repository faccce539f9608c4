#include "server/api/grpc/oip/inference_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/server/api/grpc/grpc_fixture.h"

namespace affine {
namespace {

using inference::GRPCInferenceService;
using inference::ModelInferRequest;
using inference::ModelInferResponse;
using inference::ModelStreamInferResponse;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void AddText(ModelInferRequest& request, const std::string& name, const std::string& text) {
  auto& input = *request.add_inputs();
  input.set_name(name);
  input.set_datatype("BYTES");
  input.add_shape(1);
  input.mutable_contents()->add_bytes_contents(text);
}

void AddFlag(ModelInferRequest& request, const std::string& name, bool flag) {
  auto& input = *request.add_inputs();
  input.set_name(name);
  input.set_datatype("BOOL");
  input.add_shape(1);
  input.mutable_contents()->add_bool_contents(flag);
}

ModelInferRequest Asking(const std::string& prompt, const std::string& id = "1") {
  ModelInferRequest request;
  request.set_model_name("tiny");
  request.set_id(id);
  AddText(request, "text_input", prompt);
  return request;
}

/// The text of a BYTES output.
std::string Text(const ModelInferResponse& response, int place = 0) {
  return response.raw_output_contents(place).substr(4);
}

class InferenceServiceTest : public GrpcFixture {
 protected:
  using Stream = grpc::ClientReaderWriter<ModelInferRequest, ModelStreamInferResponse>;

  void ServeInference(const std::string& key = "") {
    GrpcServerOptions options;
    options.api_key = key;
    Serve(options);
    inference_ = GRPCInferenceService::NewStub(channel_);
  }
  struct Answer {
    grpc::Status status;
    ModelInferResponse response;
  };
  Answer Infer(const ModelInferRequest& request) {
    Answer answer;
    grpc::ClientContext context;
    answer.status = inference_->ModelInfer(&context, request, &answer.response);
    return answer;
  }
  std::future<Answer> InferSoon(ModelInferRequest request) {
    return std::async(std::launch::async,
                      [this, request = std::move(request)] { return Infer(request); });
  }
  void Play(RequestHandle handle, const std::string& text, FinishReason reason) {
    engine_.AwaitRequest(handle);
    engine_.Emit(handle, Ids(text));
    engine_.Finish(handle, reason);
  }
  inference::ModelStatistics Statistics() {
    inference::ModelStatisticsResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(inference_->ModelStatistics(&context, {}, &response).ok());
    return response.model_stats(0);
  }

  std::unique_ptr<GRPCInferenceService::Stub> inference_;
};

TEST_F(InferenceServiceTest, AnswersWithThePromptFirstUnlessItIsExcluded) {
  ServeInference();
  auto whole = InferSoon(Asking("hi "));
  Play(1, "you", FinishReason::kLength);
  const Answer answer = whole.get();
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.response.model_name(), "tiny");
  EXPECT_EQ(answer.response.model_version(), "1");
  EXPECT_EQ(answer.response.id(), "1");
  EXPECT_EQ(answer.response.outputs_size(), 1);
  EXPECT_EQ(answer.response.outputs(0).datatype(), "BYTES");
  EXPECT_THAT(answer.response.outputs(0).shape(), ElementsAre(1));
  EXPECT_EQ(answer.response.raw_output_contents(0), std::string("\6\0\0\0", 4) + "hi you");

  ModelInferRequest request = Asking("hi ");
  AddFlag(request, "exclude_input_in_output", true);
  auto alone = InferSoon(request);
  Play(2, "you", FinishReason::kLength);
  EXPECT_EQ(Text(alone.get().response), "you");
}

TEST_F(InferenceServiceTest, TakesRawInputsAndAddsTheOutputsThatFlagsAskFor) {
  ServeInference();
  ModelInferRequest request;
  request.set_id("not fit for a log line");
  for (const auto& [name, type] :
       std::vector<std::pair<std::string, std::string>>{{"text_input", "BYTES"},
                                                        {"return_finish_reason", "BOOL"},
                                                        {"return_cumulative_logprob", "BOOL"},
                                                        {"return_num_output_tokens", "BOOL"},
                                                        {"return_num_input_tokens", "BOOL"},
                                                        {"exclude_input_in_output", "BOOL"}}) {
    auto& input = *request.add_inputs();
    input.set_name(name);
    input.set_datatype(type);
    input.add_shape(1);
  }
  request.add_raw_input_contents(std::string("\2\0\0\0hi", 6));
  for (int i = 0; i < 5; ++i) request.add_raw_input_contents(std::string(1, '\1'));
  auto& parameters = *request.mutable_parameters();
  parameters["max_tokens"].set_string_param("5");
  parameters["temperature"].set_double_param(0);
  parameters["timeout"].set_int64_param(1'500'001);  // microseconds
  auto whole = InferSoon(request);
  const Request asked = engine_.AwaitRequest(1);
  EXPECT_EQ(asked.max_tokens, 5);
  EXPECT_EQ(asked.sampling.temperature, 0);
  EXPECT_EQ(asked.id.size(), 32u);
  EXPECT_EQ(asked.deadline.value(), asked.arrival + std::chrono::milliseconds(1501));
  Play(1, "ab", FinishReason::kStop);
  const Answer answer = whole.get();
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.response.id(), "not fit for a log line");
  ASSERT_EQ(answer.response.outputs_size(), 5);
  EXPECT_EQ(Text(answer.response), "ab");
  EXPECT_EQ(answer.response.outputs(1).name(), "finish_reason");
  EXPECT_EQ(Text(answer.response, 1), "stop");
  EXPECT_EQ(answer.response.outputs(2).name(), "cumulative_logprob");
  float sum = 0;
  std::memcpy(&sum, answer.response.raw_output_contents(2).data(), sizeof(sum));
  EXPECT_NEAR(sum, -0.001 * ('a' + 'b'), 1e-6);
  EXPECT_EQ(answer.response.outputs(3).name(), "num_input_tokens");
  EXPECT_EQ(answer.response.raw_output_contents(3), std::string("\2\0\0\0", 4));
  EXPECT_EQ(answer.response.outputs(4).name(), "num_output_tokens");
}

TEST_F(InferenceServiceTest, ListedOutputsComeInTheirOrderAndAsContentsIfToldTo) {
  ServeInference();
  ModelInferRequest request = Asking("hi");
  request.add_outputs()->set_name("logprobs");
  request.add_outputs()->set_name("num_output_tokens");
  request.add_outputs()->set_name("text_output");
  AddText(request, "sampling_parameters", R"({"logprobs": 1, "max_tokens": "3", "stop": "5"})");
  auto& parameters = *request.mutable_parameters();
  parameters["max_tokens"].set_int64_param(9);  // the tensor goes before it
  parameters["binary_data_output"].set_bool_param(false);
  auto whole = InferSoon(request);
  EXPECT_EQ(engine_.AwaitRequest(1).max_tokens, 3);
  TokenEvent event;
  event.tokens = {ScriptedEngine::Scored('a')};
  event.tokens[0].top = {{'z', -0.5f}};
  event.finish.emplace().reason = FinishReason::kLength;
  engine_.Push(1, event);
  const Answer answer = whole.get();
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.response.raw_output_contents_size(), 0);
  const std::string logprobs = answer.response.outputs(0).contents().bytes_contents(0);
  EXPECT_THAT(logprobs, HasSubstr(R"("97":{"logprob":-0.097)"));
  EXPECT_THAT(logprobs, HasSubstr(R"("122":{"logprob":-0.5,"rank":1,"decoded_token":"z"})"));
  EXPECT_THAT(answer.response.outputs(1).contents().uint_contents(), ElementsAre(1));
  EXPECT_EQ(answer.response.outputs(2).contents().bytes_contents(0), "hia");
}

TEST_F(InferenceServiceTest, AStreamAnswersSeveralRequestsInPiecesOrWhole) {
  ServeInference();
  grpc::ClientContext context;
  std::unique_ptr<Stream> stream = inference_->ModelStreamInfer(&context);
  ModelInferRequest pieces = Asking("hi", "pieces");
  AddFlag(pieces, "stream", true);
  AddFlag(pieces, "return_finish_reason", true);
  (*pieces.mutable_parameters())["triton_enable_empty_final_response"].set_bool_param(true);
  stream->Write(pieces);
  engine_.AwaitRequest(1);
  stream->Write(Asking("hi ", "whole"));
  engine_.AwaitRequest(2);
  ModelStreamInferResponse response;
  engine_.Emit(2, Ids("x"));
  engine_.Emit(1, Ids("a"));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.infer_response().id(), "pieces");
  EXPECT_EQ(Text(response.infer_response()), "a");
  EXPECT_EQ(Text(response.infer_response(), 1), "None");
  EXPECT_FALSE(response.infer_response().parameters().at("triton_final_response").bool_param());
  engine_.Emit(2, Ids("y"));
  engine_.Finish(2, FinishReason::kStop);
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.infer_response().id(), "whole");
  EXPECT_EQ(Text(response.infer_response()), "hi xy");
  EXPECT_TRUE(response.infer_response().parameters().at("triton_final_response").bool_param());
  stream->WritesDone();
  engine_.Finish(1, FinishReason::kLength);
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.infer_response().id(), "pieces");
  EXPECT_EQ(Text(response.infer_response(), 1), "length");
  EXPECT_TRUE(response.infer_response().parameters().at("triton_final_response").bool_param());
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(Statistics().inference_stats().success().count(), 2u);
  EXPECT_GT(Statistics().last_inference(), 0u);
}

TEST_F(InferenceServiceTest, ARequestThatFailsLeavesItsStreamOpen) {
  ServeInference();
  grpc::ClientContext context;
  std::unique_ptr<Stream> stream = inference_->ModelStreamInfer(&context);
  ModelInferRequest bad = Asking("hi", "bad");
  (*bad.mutable_parameters())["temperature"].set_double_param(-1);
  stream->Write(bad);
  ModelStreamInferResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_THAT(response.error_message(), HasSubstr("`temperature` is -1"));
  EXPECT_EQ(response.infer_response().id(), "bad");
  EXPECT_TRUE(response.infer_response().parameters().at("triton_final_response").bool_param());
  EXPECT_EQ(observer_.refusals().at(0).first, "bad");
  stream->Write(Asking("hi", "late"));
  engine_.AwaitRequest(1);
  engine_.Cancel(1, RequestError{ErrorCause::kDeadline, "too late", ""});
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.error_message(), "too late");
  stream->Write(Asking("hi", "good"));
  Play(2, "!", FinishReason::kStop);
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(Text(response.infer_response()), "hi!");
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(Statistics().inference_stats().fail().count(), 1u);
}

TEST_F(InferenceServiceTest, ACancelledStreamCancelsAllItsRequests) {
  ServeInference();
  grpc::ClientContext context;
  std::unique_ptr<Stream> stream = inference_->ModelStreamInfer(&context);
  for (int i = 0; i < 3; ++i) stream->Write(Asking("hi"));
  engine_.AwaitRequest(3);
  context.TryCancel();
  EXPECT_EQ(engine_.AwaitCancel(3).second.value().cause, ErrorCause::kCancelled);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(InferenceServiceTest, AnIdleStreamHoldsUpNoShutdownButARunningRequestDoes) {
  ServeInference();
  grpc::ClientContext idle_context;
  std::unique_ptr<Stream> idle = inference_->ModelStreamInfer(&idle_context);
  idle->Write(Asking("hi"));
  Play(1, "!", FinishReason::kStop);
  ModelStreamInferResponse response;
  ASSERT_TRUE(idle->Read(&response));
  grpc::ClientContext context;
  std::unique_ptr<Stream> busy = inference_->ModelStreamInfer(&context);
  busy->Write(Asking("hi"));
  engine_.AwaitRequest(2);
  auto shutdown = std::async(std::launch::async,
                             [&] { server_->Shutdown(clock_.Now() + std::chrono::minutes(5)); });
  Play(2, "?", FinishReason::kStop);
  ASSERT_TRUE(busy->Read(&response));
  EXPECT_EQ(Text(response.infer_response()), "hi?");
  shutdown.get();
  EXPECT_FALSE(idle->Read(&response));
  EXPECT_FALSE(idle->Finish().ok());
}

TEST_F(InferenceServiceTest, TheKeyGuardsEverythingButLivenessAndReadiness) {
  ServeInference("secret");
  EXPECT_EQ(Infer(Asking("hi")).status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  grpc::ClientContext context;
  std::unique_ptr<Stream> stream = inference_->ModelStreamInfer(&context);
  ModelStreamInferResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  inference::ServerReadyResponse ready;
  grpc::ClientContext ready_context;
  ASSERT_TRUE(inference_->ServerReady(&ready_context, {}, &ready).ok());
  EXPECT_TRUE(ready.ready());
}

TEST_F(InferenceServiceTest, DescribesServerAndModels) {
  ServeInference();
  inference::ServerMetadataResponse server;
  grpc::ClientContext server_context;
  ASSERT_TRUE(inference_->ServerMetadata(&server_context, {}, &server).ok());
  EXPECT_EQ(server.name(), "affine_server");
  EXPECT_EQ(server.version(), "1.2.3");
  inference::ModelMetadataRequest request;
  request.set_name("tiny");
  inference::ModelMetadataResponse model;
  grpc::ClientContext model_context;
  ASSERT_TRUE(inference_->ModelMetadata(&model_context, request, &model).ok());
  EXPECT_EQ(model.inputs(0).name(), "text_input");
  EXPECT_EQ(model.outputs_size(), 6);
  request.set_version("2");
  grpc::ClientContext version_context;
  EXPECT_EQ(inference_->ModelMetadata(&version_context, request, &model).error_code(),
            grpc::StatusCode::NOT_FOUND);
  inference::ModelConfigResponse config;
  grpc::ClientContext config_context;
  ASSERT_TRUE(inference_->ModelConfig(&config_context, {}, &config).ok());
  EXPECT_TRUE(config.config().model_transaction_policy().decoupled());
  EXPECT_EQ(config.config().parameters().at("max_model_len").string_value(), "64");
  inference::RepositoryIndexResponse index;
  grpc::ClientContext index_context;
  ASSERT_TRUE(inference_->RepositoryIndex(&index_context, {}, &index).ok());
  EXPECT_EQ(index.models(0).name(), "tiny");
  EXPECT_EQ(index.models(0).state(), "READY");
  inference::ModelReadyRequest other;
  other.set_name("other");
  inference::ModelReadyResponse ready;
  grpc::ClientContext other_context;
  ASSERT_TRUE(inference_->ModelReady(&other_context, other, &ready).ok());
  EXPECT_FALSE(ready.ready());
}

}  // namespace
}  // namespace affine
