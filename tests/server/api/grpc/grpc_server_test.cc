#include "server/api/grpc/grpc_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include "tests/server/api/grpc/grpc_fixture.h"
#include "tests/server/api/grpc/raw_client.h"

namespace affine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

constexpr char kCheck[] = "/grpc.health.v1.Health/Check";
constexpr char kWatch[] = "/grpc.health.v1.Health/Watch";
constexpr char kService[] = "affine.v1.CompletionService";

class GrpcServerTest : public GrpcFixture {
 protected:
  /// HealthCheckResponse.status: 1 SERVING, 2 NOT_SERVING, 3 SERVICE_UNKNOWN.
  uint64_t Health(const std::string& service) {
    grpc::ClientContext context;
    std::string response;
    const grpc::Status status =
        RawUnaryCall(*channel_, kCheck, TextField(1, service), response, context);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return NumberIn(response);
  }
};

TEST_F(GrpcServerTest, TheEmptyNameIsAlwaysServingAndTheServiceWhenItIsSaidToBe) {
  Serve();
  EXPECT_EQ(Health(""), 1u);
  EXPECT_EQ(Health(kService), 2u);
  server_->SetServing(true);
  EXPECT_EQ(Health(kService), 1u);
  server_->SetServing(false);
  EXPECT_EQ(Health(kService), 2u);
  EXPECT_EQ(Health(""), 1u);
}

TEST_F(GrpcServerTest, EveryServiceThatAnswersCompletionsHasHealthOfItsOwn) {
  Serve();
  for (const char* service : {"inference.GRPCInferenceService", "vllm.grpc.engine.VllmEngine"}) {
    EXPECT_EQ(Health(service), 2u) << service;
    server_->SetServing(true);
    EXPECT_EQ(Health(service), 1u) << service;
    server_->SetServing(false);
  }
}

TEST_F(GrpcServerTest, AMethodThatIsNotServedSaysWhy) {
  Serve();
  for (const auto& [method, why] : std::vector<std::pair<const char*, const char*>>{
           {"/vllm.grpc.engine.VllmEngine/Embed", "have no embeddings"},
           {"/inference.GRPCInferenceService/SystemSharedMemoryRegister", "in the message"},
           {"/inference.GRPCInferenceService/RepositoryModelLoad", "--model"},
           {"/other.Service/Method", "/other.Service/Method is not served here"}}) {
    grpc::ClientContext context;
    std::string response;
    const grpc::Status status = RawUnaryCall(*channel_, method, "", response, context);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
    EXPECT_THAT(status.error_message(), HasSubstr(why));
    EXPECT_EQ(MetadataValue(context.GetServerTrailingMetadata(), "error-code"), "not_found");
  }
}

TEST_F(GrpcServerTest, HealthOfAnUnknownServiceIsNotFound) {
  Serve();
  grpc::ClientContext context;
  std::string response;
  EXPECT_EQ(RawUnaryCall(*channel_, kCheck, TextField(1, "other"), response, context).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(GrpcServerTest, AWatcherIsToldOfEachChange) {
  Serve();
  grpc::ClientContext context;
  auto watch = RawStreamCall(*channel_, kWatch, context);
  watch->WriteLast(RawBytes(TextField(1, kService)), grpc::WriteOptions());
  grpc::ByteBuffer message;
  ASSERT_TRUE(watch->Read(&message));
  EXPECT_EQ(NumberIn(StringOf(message)), 2u);
  server_->SetServing(true);
  ASSERT_TRUE(watch->Read(&message));
  EXPECT_EQ(NumberIn(StringOf(message)), 1u);
  context.TryCancel();
  watch->Finish();
}

TEST_F(GrpcServerTest, ReflectionListsTheServices) {
  Serve();
  grpc::ClientContext context;
  auto stream = RawStreamCall(
      *channel_, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", context);
  stream->Write(RawBytes(TextField(7, "")));  // list_services
  grpc::ByteBuffer message;
  ASSERT_TRUE(stream->Read(&message));
  std::vector<std::string> names;
  for (const std::string& list : TextsIn(StringOf(message), 6)) {  // list_services_response
    for (const std::string& service : TextsIn(list, 1)) {
      for (const std::string& name : TextsIn(service, 1)) names.push_back(name);
    }
  }
  EXPECT_THAT(names, IsSupersetOf({std::string(kService), std::string("grpc.health.v1.Health"),
                                   std::string("inference.GRPCInferenceService"),
                                   std::string("vllm.grpc.engine.VllmEngine")}));
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(GrpcServerTest, WithAKeyOnlyItsHoldersAreServed) {
  GrpcServerOptions options;
  options.api_key = "secret";
  Serve(options);
  const auto code_with = [&](const std::string& authorization) {
    grpc::ClientContext context;
    if (!authorization.empty()) context.AddMetadata("authorization", authorization);
    v1::ListModelsResponse list;
    return stub_->ListModels(&context, {}, &list).error_code();
  };
  EXPECT_EQ(code_with(""), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(code_with("Bearer secreT"), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(code_with("Bearer secret2"), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(code_with("Bearer "), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(code_with("Bearer secret"), grpc::StatusCode::OK);
  EXPECT_EQ(Complete(Prompt("hi")).status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  grpc::ClientContext context;
  v1::CompleteChunk chunk;
  auto reader = stub_->StreamComplete(&context, Prompt("hi"));
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(engine_.submitted(), 0u);
  EXPECT_EQ(Health(""), 1u);
}

TEST_F(GrpcServerTest, AMessageOverTheLimitIsRefusedWithBothNumbers) {
  GrpcServerOptions options;
  options.max_receive_bytes = 1000;
  Serve(options);
  const UnaryAnswer answer = Complete(Prompt(std::string(2000, 'a')));
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("1000"));
  EXPECT_EQ(Health(""), 1u);
}

TEST_F(GrpcServerTest, ShutdownLetsCallsInFlightFinish) {
  Serve();
  grpc::ClientContext context;
  auto reader = stub_->StreamComplete(&context, Prompt("hi"));
  engine_.AwaitRequest(1);
  grpc::ClientContext watch_context;
  auto watch = RawStreamCall(*channel_, kWatch, watch_context);
  watch->WriteLast(RawBytes(TextField(1, kService)), grpc::WriteOptions());
  grpc::ByteBuffer message;
  ASSERT_TRUE(watch->Read(&message));

  auto shutdown = std::async(std::launch::async,
                             [&] { server_->Shutdown(clock_.Now() + std::chrono::minutes(5)); });
  engine_.Emit(1, Ids("a"));
  v1::CompleteChunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  EXPECT_EQ(chunk.text(), "a");
  engine_.Finish(1, FinishReason::kStop);
  ASSERT_TRUE(reader->Read(&chunk));
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_TRUE(reader->Finish().ok());
  shutdown.get();  // a watcher does not hold it up
  while (watch->Read(&message)) {
  }
  EXPECT_FALSE(watch->Finish().ok());
}

TEST_F(GrpcServerTest, ShutdownCutsOffWhatIsLeftAtTheDeadline) {
  Serve();
  grpc::ClientContext context;
  auto reader = stub_->StreamComplete(&context, Prompt("hi"));
  engine_.AwaitRequest(1);
  server_->Shutdown(clock_.Now());
  EXPECT_EQ(engine_.AwaitCancel(1).first, 1u);
  v1::CompleteChunk chunk;
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_FALSE(reader->Finish().ok());
}

TEST_F(GrpcServerTest, ASocketHandedOverAfterShutdownIsClosed) {
  Serve();
  server_->Shutdown(clock_.Now());
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  server_->HandOver(pair[0]);
  char byte;
  EXPECT_EQ(read(pair[1], &byte, 1), 0);
  close(pair[1]);
}

TEST_F(GrpcServerTest, GarbageOnASocketHarmsNobody) {
  Serve();
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  server_->HandOver(pair[0]);
  ASSERT_EQ(write(pair[1], "GET / HTTP/1.1\r\n\r\n", 18), 18);
  std::string answer(4096, '\0');
  while (read(pair[1], answer.data(), answer.size()) > 0) {
  }
  close(pair[1]);
  EXPECT_EQ(Health(""), 1u);
}

}  // namespace
}  // namespace affine
