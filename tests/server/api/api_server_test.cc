#include "server/api/api_server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "affine/v1/completion.grpc.pb.h"
#include "tests/server/api/loopback_client.h"
#include "tests/server/request/byte_tokenizer.h"
#include "tests/server/request/scripted_engine.h"

namespace affine {
namespace {

using std::chrono::milliseconds;

class IgnoringObserver final : public ApiObserver {
 public:
  void OnRefused(const std::string&, const RequestError&) override {}
  void OnFirstToken(const std::string&, Clock::Duration) override {}
};

/// Padded to `bytes` by a field that nobody knows.
std::string BodyOf(size_t bytes) {
  const std::string begin = R"({"prompt":"say","model":"other","filler":")";
  return begin + std::string(bytes - begin.size() - 2, 'x') + "\"}";
}

constexpr std::string_view kStreamBody = R"({"prompt":"say","stream":true})";

class ApiServerTest : public ::testing::Test {
 protected:
  ApiServerTest() { models_.Add({"tiny", &engine_, &tokenizer_, 0}); }

  std::unique_ptr<ApiServer> MakeServer(ApiOptions options = {.port = 0, .version = "1.2.3"}) {
    return std::make_unique<ApiServer>(options, models_, clock_, observer_,
                                       [] { return std::string("affine_up 1\n"); });
  }
  static std::string Get(const std::string& path) { return "GET " + path + " HTTP/1.1\r\n\r\n"; }
  static std::string Post(std::string_view body) {
    return "POST /v1/completions HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + std::string(body);
  }
  static std::unique_ptr<v1::CompletionService::Stub> GrpcStub(int port) {
    return v1::CompletionService::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                                              grpc::InsecureChannelCredentials()));
  }

  ByteTokenizer tokenizer_;
  ScriptedEngine engine_{SmallModelInfo(tokenizer_)};
  ServedModels models_{{"tiny"}};
  SteadyClock clock_;
  IgnoringObserver observer_;
};

TEST_F(ApiServerTest, SpeaksHttpAndGrpcOnOnePort) {
  const auto server = MakeServer();
  ASSERT_EQ(server->Start(), std::nullopt);
  ASSERT_GT(server->port(), 0);
  LoopbackClient http(server->port());
  http.Send(Get("/version"));
  EXPECT_EQ(http.ReadResponse().body, R"({"version":"1.2.3"})");
  grpc::ClientContext context;
  v1::ListModelsResponse models;
  const auto stub = GrpcStub(server->port());
  const grpc::Status status = stub->ListModels(&context, {}, &models);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(models.models_size(), 1);
  EXPECT_EQ(models.models(0).name(), "tiny");
  http.Send(Get("/metrics"));
  EXPECT_EQ(http.ReadResponse().body, "affine_up 1\n");
}

TEST_F(ApiServerTest, OneLimitHoldsForBodiesAndMessages) {
  const auto server = MakeServer({.port = 0, .max_body_bytes = 2000, .version = "1.2.3"});
  ASSERT_EQ(server->Start(), std::nullopt);
  const auto stub = GrpcStub(server->port());
  for (const size_t bytes : {2000, 2001}) {
    LoopbackClient http(server->port());
    http.Send(Post(BodyOf(bytes)));
    EXPECT_EQ(http.ReadResponse().status, bytes == 2000 ? 404 : 413);
    v1::CompleteRequest request;
    request.set_model("other");
    request.set_text("x");
    request.set_text(std::string(bytes - request.ByteSizeLong(),
                                 'x'));  // its length takes 1 more
    ASSERT_EQ(request.ByteSizeLong(), bytes);
    grpc::ClientContext context;
    v1::CompleteResponse response;
    EXPECT_EQ(stub->Complete(&context, request, &response).error_code(),
              bytes == 2000 ? grpc::StatusCode::NOT_FOUND : grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
}

TEST_F(ApiServerTest, SaysThatThePortIsInUse) {
  const auto first = MakeServer();
  ASSERT_EQ(first->Start(), std::nullopt);
  const auto second = MakeServer({.port = first->port()});
  EXPECT_THAT(second->Start().value_or(""), ::testing::HasSubstr("is already in use"));
}

TEST_F(ApiServerTest, ShutdownLetsRunningStreamsOfBothProtocolsFinish) {
  const auto server = MakeServer();
  ASSERT_EQ(server->Start(), std::nullopt);
  LoopbackClient http(server->port());
  http.Send(Post(kStreamBody));
  engine_.AwaitRequest(1);
  const auto stub = GrpcStub(server->port());
  grpc::ClientContext context;
  v1::CompleteRequest request;
  request.set_text("say");
  const auto stream = stub->StreamComplete(&context, request);
  engine_.AwaitRequest(2);
  engine_.Emit(1, {'h'});
  EXPECT_EQ(http.ReadHead().status, 200);
  std::thread shutdown([&] { server->Shutdown(std::chrono::hours(1)); });
  // The port is closed once the shutdown is under way.
  while (LoopbackClient(server->port()).connected()) std::this_thread::yield();
  engine_.Finish(1, FinishReason::kLength);
  engine_.Finish(2, FinishReason::kLength);
  EXPECT_THAT(http.ReadToEnd(), ::testing::HasSubstr("data: [DONE]"));
  http.Close();
  v1::CompleteChunk chunk;
  while (stream->Read(&chunk)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
  shutdown.join();
  EXPECT_EQ(engine_.cancels(), 0u);
}

TEST_F(ApiServerTest, ShutdownCutsOffWhatOutlivesTheGrace) {
  const auto server = MakeServer();
  ASSERT_EQ(server->Start(), std::nullopt);
  LoopbackClient http(server->port());
  http.Send(Post(kStreamBody));
  engine_.AwaitRequest(1);
  server->Shutdown(milliseconds(10));
  EXPECT_EQ(http.ReadToEnd(), "");
  EXPECT_EQ(engine_.AwaitCancel(1).second.value().cause, ErrorCause::kCancelled);
}

TEST_F(ApiServerTest, ANeverStartedServerEndsQuietly) {
  const auto server = MakeServer();
  server->Shutdown(milliseconds(0));
  EXPECT_EQ(server->port(), 0);
}

}  // namespace
}  // namespace affine
