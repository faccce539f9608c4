#include "server/api/grpc/completion_service.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel_posix.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <limits>

#include "tests/server/api/grpc/grpc_fixture.h"
#include "tests/server/api/grpc/raw_client.h"

namespace affine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kBigPiece(60'000, 'x');

class CompletionServiceTest : public GrpcFixture {
 protected:
  CompletionServiceTest() : GrpcFixture({"\xe2\x82", "\xac", kBigPiece}) { Serve(); }

  /// Everything that a stream brings until its end.
  struct StreamAnswer {
    v1::CompleteResponse whole;
    std::vector<v1::CompleteChunk> chunks;
    grpc::Status status;
  };
  static StreamAnswer ReadAll(grpc::ClientReader<v1::CompleteChunk>& reader) {
    StreamAnswer answer;
    v1::CompleteChunk chunk;
    while (reader.Read(&chunk)) {
      answer.chunks.push_back(chunk);
      answer.whole.mutable_text()->append(chunk.text());
      answer.whole.mutable_token_ids()->MergeFrom(chunk.token_ids());
      answer.whole.mutable_logprobs()->MergeFrom(chunk.logprobs());
      answer.whole.mutable_prompt_logprobs()->MergeFrom(chunk.prompt_logprobs());
      answer.whole.mutable_prompt_token_ids()->MergeFrom(chunk.prompt_token_ids());
      answer.whole.mutable_model()->append(chunk.model());
      answer.whole.set_request_id(chunk.request_id());
      if (chunk.has_usage()) {
        *answer.whole.mutable_usage() = chunk.usage();
        answer.whole.set_finish_reason(chunk.finish_reason());
      }
    }
    answer.status = reader.Finish();
    return answer;
  }
  /// What the engine makes of request `handle`: two log-probabilities for the prompt, five tokens.
  void Play(RequestHandle handle) {
    engine_.AwaitRequest(handle);
    TokenEvent first;
    first.prompt = {ScriptedEngine::Scored('i')};
    first.tokens = {ScriptedEngine::Scored('a'), ScriptedEngine::Scored(256)};
    first.tokens[0].top = {{'a', -0.5f}, {256, -1.5f}};
    engine_.Push(handle, first);
    engine_.Emit(handle, {257});
    engine_.Emit(handle, {'b', 'c'});
    RequestFinish finish;
    finish.reason = FinishReason::kLength;
    finish.cached_tokens = 1;
    engine_.Finish(handle, finish);
  }
  static v1::CompleteRequest Detailed() {
    v1::CompleteRequest request = Prompt("hi");
    request.set_echo(true);
    request.set_logprobs(2);
    request.set_request_id("the-id");
    return request;
  }
};

TEST_F(CompletionServiceTest, TheStreamConcatenatesToTheUnaryAnswer) {
  auto unary = std::async(std::launch::async, [&] { return Complete(Detailed()); });
  Play(1);
  const UnaryAnswer answer = unary.get();
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.response.text(),
            "hia\xe2\x82\xac"
            "bc");
  EXPECT_THAT(answer.response.token_ids(), ElementsAre('a', 256, 257, 'b', 'c'));
  EXPECT_THAT(answer.response.prompt_token_ids(), ElementsAre('h', 'i'));
  EXPECT_EQ(answer.response.logprobs_size(), 5);
  EXPECT_EQ(answer.response.logprobs(0).top(1).text(), "\xef\xbf\xbd");
  EXPECT_EQ(answer.response.prompt_logprobs_size(), 1);
  EXPECT_EQ(answer.response.usage().output_tokens(), 5u);
  EXPECT_EQ(answer.response.usage().cached_tokens(), 1u);
  EXPECT_EQ(answer.response.finish_reason(), v1::FINISH_REASON_LENGTH);
  EXPECT_EQ(answer.response.model(), "tiny");
  EXPECT_EQ(answer.response.request_id(), "the-id");

  grpc::ClientContext context;
  auto reader = stub_->StreamComplete(&context, Detailed());
  Play(2);
  const StreamAnswer stream = ReadAll(*reader);
  ASSERT_TRUE(stream.status.ok()) << stream.status.error_message();
  EXPECT_EQ(stream.whole.SerializeAsString(), answer.response.SerializeAsString());
}

TEST_F(CompletionServiceTest, PiecesArriveAsTheEngineMakesThem) {
  grpc::ClientContext context;
  auto reader = stub_->StreamComplete(&context, Prompt("hi"));
  engine_.AwaitRequest(1);
  v1::CompleteChunk chunk;
  for (const std::string text : {"a", "b", "c"}) {
    engine_.Emit(1, Ids(text));
    ASSERT_TRUE(reader->Read(&chunk));
    EXPECT_EQ(chunk.text(), text);
    EXPECT_EQ(chunk.model(), text == "a" ? "tiny" : "");
  }
  engine_.Finish(1, FinishReason::kStop);
  ASSERT_TRUE(reader->Read(&chunk));
  EXPECT_EQ(chunk.finish_reason(), v1::FINISH_REASON_STOP);
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(CompletionServiceTest, ACancelledStreamIsCancelledInTheEngine) {
  grpc::ClientContext context;
  auto reader = stub_->StreamComplete(&context, Prompt("hi"));
  engine_.AwaitRequest(1);
  engine_.Emit(1, Ids("a"));
  v1::CompleteChunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  context.TryCancel();
  const auto [handle, error] = engine_.AwaitCancel(1);
  EXPECT_EQ(handle, 1u);
  EXPECT_EQ(error.value().cause, ErrorCause::kCancelled);
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(CompletionServiceTest, ACancelledUnaryCallIsCancelledInTheEngine) {
  grpc::ClientContext context;
  auto unary = std::async(std::launch::async, [&] { return Complete(Prompt("hi"), context); });
  engine_.AwaitRequest(1);
  context.TryCancel();
  EXPECT_EQ(engine_.AwaitCancel(1).second.value().cause, ErrorCause::kCancelled);
  EXPECT_EQ(unary.get().status.error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(CompletionServiceTest, ALostConnectionCancelsItsRequests) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  const int line = dup(pair[1]);
  server_->HandOver(pair[0]);
  auto stub =
      v1::CompletionService::NewStub(grpc::CreateInsecureChannelFromFd("loopback", pair[1]));
  grpc::ClientContext context;
  auto reader = stub->StreamComplete(&context, Prompt("hi"));
  engine_.AwaitRequest(1);
  shutdown(line, SHUT_RDWR);
  EXPECT_EQ(engine_.AwaitCancel(1).second.value().cause, ErrorCause::kCancelled);
  EXPECT_FALSE(ReadAll(*reader).status.ok());
  close(line);
}

TEST_F(CompletionServiceTest, TheRpcsDeadlineReachesTheEngineAndEndsTheCall) {
  grpc::ClientContext context;
  const Clock::Time before = clock_.Now();
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(300));
  const UnaryAnswer answer = Complete(Prompt("hi"), context);
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(engine_.AwaitCancel(1).second.value().cause, ErrorCause::kDeadline);
  const auto deadline = engine_.AwaitRequest(1).deadline;
  ASSERT_TRUE(deadline);
  EXPECT_GT(*deadline, before + std::chrono::milliseconds(200));
  EXPECT_LT(*deadline, before + std::chrono::milliseconds(1000));
}

TEST_F(CompletionServiceTest, WithoutADeadlineTheRequestHasNone) {
  grpc::ClientContext context;
  auto reader = stub_->StreamComplete(&context, Prompt("hi"));
  EXPECT_FALSE(engine_.AwaitRequest(1).deadline);
  engine_.Finish(1, FinishReason::kStop);
  EXPECT_TRUE(ReadAll(*reader).status.ok());
}

TEST_F(CompletionServiceTest, ARequestThatMakesTheServerThrowEndsThatRequestAlone) {
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

TEST_F(CompletionServiceTest, BadInputNamesFieldValueAndLimitAndHarmsNothing) {
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

TEST_F(CompletionServiceTest, EachCauseHasItsStatus) {
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

TEST_F(CompletionServiceTest, WhileItLoadsAndWhileItDrainsItHintsAtARetry) {
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

TEST_F(CompletionServiceTest, AnErrorOfTheEngineEndsTheStreamWithItsStatus) {
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

TEST_F(CompletionServiceTest, BrokenBytesAreBadInput) {
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

TEST_F(CompletionServiceTest, TheRequestIdComesFromTheMessageOrTheMetadataOrIsDrawn) {
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

TEST_F(CompletionServiceTest, ARequestIdThatFitsNoHeaderIsRefused) {
  v1::CompleteRequest request = Prompt("hi");
  request.set_request_id("two words");
  grpc::ClientContext context;
  const UnaryAnswer answer = Complete(request, context);
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(MetadataValue(context.GetServerInitialMetadata(), "x-request-id").size(), 32u);
  ASSERT_EQ(observer_.refusals().size(), 1u);
  EXPECT_EQ(observer_.refusals()[0].second.param, "request_id");
}

TEST_F(CompletionServiceTest, AReaderThatDoesNotReadStallsNobodyElse) {
  constexpr int kPieces = 40;  // 2.4 MB: more than flow control lets through
  grpc::ClientContext slow_context;
  v1::CompleteRequest request = Prompt("hi");
  request.set_max_tokens(kPieces);
  auto slow = stub_->StreamComplete(&slow_context, request);
  engine_.AwaitRequest(1);
  for (int i = 0; i < kPieces; ++i) engine_.Emit(1, {258});
  grpc::ClientContext quick_context;
  auto quick = stub_->StreamComplete(&quick_context, Prompt("hi"));
  engine_.AwaitRequest(2);
  engine_.Emit(2, Ids("quick"));
  engine_.Finish(2, FinishReason::kStop);
  EXPECT_EQ(ReadAll(*quick).whole.text(), "quick");
  engine_.Finish(1, FinishReason::kLength);
  const StreamAnswer answer = ReadAll(*slow);
  EXPECT_TRUE(answer.status.ok());
  EXPECT_EQ(answer.whole.text().size(), kPieces * kBigPiece.size());
  EXPECT_EQ(answer.whole.usage().output_tokens(), static_cast<uint32_t>(kPieces));
  EXPECT_LT(answer.chunks.size(), static_cast<size_t>(kPieces)) << "pieces that pile up go as one";
}

TEST_F(CompletionServiceTest, ASlowReaderThatIsCancelledMidWriteEnds) {
  grpc::ClientContext context;
  auto reader = stub_->StreamComplete(&context, Prompt("hi"));
  engine_.AwaitRequest(1);
  for (int i = 0; i < 16; ++i) engine_.Emit(1, {258});
  context.TryCancel();
  EXPECT_EQ(engine_.AwaitCancel(1).first, 1u);
  EXPECT_EQ(ReadAll(*reader).status.error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(CompletionServiceTest, ManyCallsAtOnceGetTheirOwnAnswers) {
  constexpr int kCalls = 32;
  std::vector<std::future<std::string>> texts;
  for (int i = 0; i < kCalls; ++i) {
    texts.push_back(std::async(std::launch::async, [this, i] {
      return Complete(Prompt(std::string(1, static_cast<char>('A' + i)))).response.text();
    }));
  }
  for (RequestHandle handle = 1; handle <= kCalls; ++handle) {
    const int32_t prompt = engine_.AwaitRequest(handle).prompt[0];
    engine_.Emit(handle, {prompt, prompt});
    engine_.Finish(handle, FinishReason::kLength);
  }
  for (int i = 0; i < kCalls; ++i) {
    EXPECT_EQ(texts[i].get(), std::string(2, static_cast<char>('A' + i)));
  }
}

TEST_F(CompletionServiceTest, TokenizesAndDetokenizes) {
  v1::TokenizeRequest request;
  request.set_text("a\xe2\x82\xac");
  v1::TokenizeResponse tokens;
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->Tokenize(&context, request, &tokens).ok());
  EXPECT_THAT(tokens.ids(), ElementsAre('a', 256, 0xac));
  EXPECT_THAT(tokens.tokens(), ElementsAre("a", "\xef\xbf\xbd", "\xef\xbf\xbd"));
  EXPECT_EQ(tokens.max_model_len(), 64u);
  EXPECT_EQ(MetadataValue(context.GetServerInitialMetadata(), "x-request-id").size(), 32u);

  v1::DetokenizeRequest back;
  *back.mutable_ids() = tokens.ids();
  back.add_ids(tokenizer_.first_special());
  v1::DetokenizeResponse text;
  grpc::ClientContext back_context;
  ASSERT_TRUE(stub_->Detokenize(&back_context, back, &text).ok());
  EXPECT_EQ(text.text(), "a\xe2\x82\xac<bos>");

  back.set_ids(1, 4'000'000'000u);
  grpc::ClientContext bad_context;
  const grpc::Status status = stub_->Detokenize(&bad_context, back, &text);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "`ids[1]` is 4000000000; it must be a token id in [0, 260]");
}

TEST_F(CompletionServiceTest, DescribesItsModels) {
  grpc::ClientContext context;
  v1::ListModelsResponse list;
  ASSERT_TRUE(stub_->ListModels(&context, {}, &list).ok());
  ASSERT_EQ(list.models_size(), 1);
  grpc::ClientContext one_context;
  v1::ModelDescription one;
  ASSERT_TRUE(stub_->GetModel(&one_context, {}, &one).ok());
  EXPECT_EQ(one.SerializeAsString(), list.models(0).SerializeAsString());
  EXPECT_EQ(one.server_version(), "1.2.3");
  v1::GetModelRequest other;
  other.set_model("other");
  grpc::ClientContext other_context;
  EXPECT_EQ(stub_->GetModel(&other_context, other, &one).error_code(), grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace affine
