#include "server/api/grpc/completion_service.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel_posix.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <future>

#include "tests/server/api/grpc/completion_fixture.h"

namespace affine {
namespace {

using ::testing::ElementsAre;

using CompletionServiceTest = CompletionFixture;

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
