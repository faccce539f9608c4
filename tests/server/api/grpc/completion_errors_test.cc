#include <gmock/gmock.h>
#include <grpcpp/create_channel_posix.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/server/api/grpc/completion_fixture.h"
#include "tests/server/api/grpc/raw_client.h"

namespace affine {
namespace {

using ::testing::HasSubstr;

using CompletionErrorsTest = CompletionFixture;

TEST_F(CompletionErrorsTest, ARequestThatMakesTheServerThrowEndsThatRequestAlone) {
  const std::string bad(ByteTokenizer::kUnencodable);
  const UnaryAnswer answer = Complete(Prompt(bad));
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("the tokenizer is out of order"));
  grpc::ClientContext stream_context;
  EXPECT_EQ(ReadAll(*stub_->StreamComplete(&stream_context, Prompt(bad))).status.error_code(),
            grpc::StatusCode::INTERNAL);
  v1::TokenizeRequest request;
  v1::TokenizeResponse response;
  request.set_text(bad);
  grpc::ClientContext bad_context, good_context;
  EXPECT_EQ(stub_->Tokenize(&bad_context, request, &response).error_code(),
            grpc::StatusCode::INTERNAL);
  request.set_text("a");
  EXPECT_TRUE(stub_->Tokenize(&good_context, request, &response).ok());
}

TEST_F(CompletionErrorsTest, BadInputNamesFieldValueAndLimitAndHarmsNothing) {
  v1::CompleteRequest request = Prompt("hi");
  request.mutable_sampling()->set_temperature(std::numeric_limits<float>::quiet_NaN());
  grpc::ClientContext context;
  const UnaryAnswer answer = Complete(request, context);
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(answer.status.error_message(),
            "`temperature` is nan; it must be a finite number in [0, 100]");
  EXPECT_EQ(MetadataValue(context.GetServerTrailingMetadata(), "error-param"), "temperature");
  EXPECT_EQ(MetadataValue(context.GetServerTrailingMetadata(), "error-code"), "bad_input");
  grpc::ClientContext stream_context;
  auto reader = stub_->StreamComplete(&stream_context, request);
  EXPECT_EQ(ReadAll(*reader).status.error_message(), answer.status.error_message());
  EXPECT_EQ(engine_.submitted(), 0u);
  EXPECT_EQ(observer_.refusals().size(), 2u);
}

TEST_F(CompletionErrorsTest, EachCauseHasItsStatus) {
  v1::CompleteRequest unknown = Prompt("hi");
  unknown.set_model("other");
  const UnaryAnswer answer = Complete(unknown);
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("`tiny`"));
  EXPECT_EQ(Complete(v1::CompleteRequest()).status.error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);

  engine_.RefuseWith({ErrorCause::kFull, "the queue is full", "", 7});
  grpc::ClientContext context;
  EXPECT_EQ(Complete(Prompt("hi"), context).status.error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(MetadataValue(context.GetServerTrailingMetadata(), "retry-after"), "7");
}

TEST_F(CompletionErrorsTest, WhileItLoadsAndWhileItDrainsItHintsAtARetry) {
  const auto hint = [&](v1::CompletionService::Stub& stub) {
    grpc::ClientContext context;
    v1::CompleteResponse response;
    EXPECT_EQ(stub.Complete(&context, Prompt("hi"), &response).error_code(),
              grpc::StatusCode::UNAVAILABLE);
    return MetadataValue(context.GetServerTrailingMetadata(), "retry-after");
  };
  models_.CloseForDrain();
  EXPECT_EQ(hint(*stub_), "1");
  ServedModels loading({"tiny"});
  GrpcServer server({}, loading, clock_, observer_, executor_.get_executor());
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  server.HandOver(pair[0]);
  const auto stub =
      v1::CompletionService::NewStub(grpc::CreateInsecureChannelFromFd("loading", pair[1]));
  EXPECT_EQ(hint(*stub), "1");
}

TEST_F(CompletionErrorsTest, AnErrorOfTheEngineEndsTheStreamWithItsStatus) {
  grpc::ClientContext context;
  auto reader = stub_->StreamComplete(&context, Prompt("hi"));
  engine_.AwaitRequest(1);
  TokenEvent event;
  event.tokens = {ScriptedEngine::Scored('a')};
  event.finish = RequestFinish{};
  event.finish->reason = FinishReason::kError;
  event.finish->error = RequestError{ErrorCause::kNonFinite, "the logits were not finite", ""};
  engine_.Push(1, event);
  const StreamAnswer answer = ReadAll(*reader);
  EXPECT_EQ(answer.whole.text(), "a");
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(MetadataValue(context.GetServerTrailingMetadata(), "error-code"), "non_finite_logits");
}

TEST_F(CompletionErrorsTest, BrokenBytesAreBadInput) {
  for (const auto& [bytes, message] : std::vector<std::pair<std::string, std::string>>{
           {TextField(2, "\xff"), "`prompt` is not valid UTF-8; it must be text in UTF-8"},
           {"\xff\xff",
            "the request's bytes are not a message of type affine.v1.CompleteRequest; "
            "encode it by that definition"}}) {
    grpc::ClientContext context;
    std::string response;
    const grpc::Status status =
        RawUnaryCall(*channel_, "/affine.v1.CompletionService/Complete", bytes, response, context);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.error_message(), message);
  }
}

TEST_F(CompletionErrorsTest, TheRequestIdComesFromTheMessageOrTheMetadataOrIsDrawn) {
  const auto id_of = [&](const std::string& message, const std::string& metadata) {
    grpc::ClientContext context;
    if (!metadata.empty()) context.AddMetadata("x-request-id", metadata);
    v1::CompleteRequest request = Prompt("hi");
    request.set_request_id(message);
    const RequestHandle handle = engine_.submitted() + 1;
    auto reader = stub_->StreamComplete(&context, request);
    engine_.AwaitRequest(handle);
    engine_.Finish(handle, FinishReason::kStop);
    const StreamAnswer answer = ReadAll(*reader);
    EXPECT_TRUE(answer.status.ok());
    EXPECT_EQ(MetadataValue(context.GetServerInitialMetadata(), "x-request-id"),
              answer.whole.request_id());
    return answer.whole.request_id();
  };
  EXPECT_EQ(id_of("message", "metadata"), "message");
  EXPECT_EQ(id_of("", "metadata"), "metadata");
  EXPECT_EQ(id_of("", "").size(), 32u);
}

TEST_F(CompletionErrorsTest, ARequestIdThatFitsNoHeaderIsRefused) {
  v1::CompleteRequest request = Prompt("hi");
  request.set_request_id("two words");
  grpc::ClientContext context;
  const UnaryAnswer answer = Complete(request, context);
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(MetadataValue(context.GetServerInitialMetadata(), "x-request-id").size(), 32u);
  ASSERT_EQ(observer_.refusals().size(), 1u);
  EXPECT_EQ(observer_.refusals()[0].second.param, "request_id");
}

}  // namespace
}  // namespace affine
