#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>

#include "tests/server/api/grpc/grpc_fixture.h"

namespace affine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GrpcSeveralAnswersTest : public GrpcFixture {
 protected:
  GrpcSeveralAnswersTest() { Serve(); }
  static v1::CompleteRequest Three() {
    v1::CompleteRequest request = Prompt("hi");
    request.set_n(3);
    request.set_logprobs(0);
    request.set_prompt_logprobs(0);
    return request;
  }
  /// Answer i of three, whose requests begin at `first`, is i + 1 letters long.
  void Play(RequestHandle first) {
    engine_.AwaitRequest(first + 2);
    for (const int i : {2, 0, 1}) {
      TokenEvent event;
      if (i == 0) event.prompt = {ScriptedEngine::Scored('i')};
      for (int j = 0; j <= i; ++j) event.tokens.push_back(ScriptedEngine::Scored('a' + i));
      engine_.Push(first + i, event);
    }
    for (const int i : {1, 0, 2}) {
      engine_.Finish(first + i, i == 0 ? FinishReason::kStop : FinishReason::kLength);
    }
  }
};

TEST_F(GrpcSeveralAnswersTest, TheFirstStandsInTheResponseAndTheOthersBesideIt) {
  auto unary = std::async(std::launch::async, [&] { return Complete(Three()); });
  Play(1);
  const v1::CompleteResponse answer = unary.get().response;
  EXPECT_EQ(answer.text(), "a");
  EXPECT_EQ(answer.finish_reason(), v1::FINISH_REASON_STOP);
  EXPECT_EQ(answer.prompt_logprobs_size(), 1);
  ASSERT_EQ(answer.other_answers_size(), 2);
  EXPECT_EQ(answer.other_answers(0).text(), "bb");
  EXPECT_EQ(answer.other_answers(1).text(), "ccc");
  EXPECT_THAT(answer.other_answers(1).token_ids(), ElementsAre('c', 'c', 'c'));
  EXPECT_EQ(answer.other_answers(1).logprobs_size(), 3);
  EXPECT_EQ(answer.other_answers(1).finish_reason(), v1::FINISH_REASON_LENGTH);
  EXPECT_EQ(answer.usage().prompt_tokens(), 2u);
  EXPECT_EQ(answer.usage().output_tokens(), 6u);
}

TEST_F(GrpcSeveralAnswersTest, PiecesOfAStreamCarryTheirAnswersIndex) {
  grpc::ClientContext context;
  auto reader = stub_->StreamComplete(&context, Three());
  Play(1);
  std::map<uint32_t, std::string> texts;
  std::map<uint32_t, int> ends;
  int usages = 0, prompts = 0;
  v1::CompleteChunk chunk;
  while (reader->Read(&chunk)) {
    EXPECT_EQ(usages, 0) << "it comes with the last message";
    texts[chunk.index()] += chunk.text();
    ends[chunk.index()] += chunk.finish_reason() != v1::FINISH_REASON_UNSPECIFIED;
    usages += chunk.has_usage();
    prompts += chunk.prompt_logprobs_size();
    if (chunk.has_usage()) EXPECT_EQ(chunk.usage().output_tokens(), 6u);
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_THAT(texts, ElementsAre(std::pair(0u, "a"), std::pair(1u, "bb"), std::pair(2u, "ccc")));
  EXPECT_THAT(ends, ElementsAre(std::pair(0u, 1), std::pair(1u, 1), std::pair(2u, 1)));
  EXPECT_EQ(usages, 1);
  EXPECT_EQ(prompts, 1);
}

TEST_F(GrpcSeveralAnswersTest, CancellingTheCallCancelsEveryAnswer) {
  grpc::ClientContext context;
  auto reader = stub_->StreamComplete(&context, Three());
  engine_.AwaitRequest(3);
  context.TryCancel();
  for (size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(engine_.AwaitCancel(i).second->cause, ErrorCause::kCancelled);
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(GrpcSeveralAnswersTest, TheBestOfMoreGoesOutWholeAlone) {
  v1::CompleteRequest request = Prompt("hi");
  request.set_best_of(2);
  grpc::ClientContext context;
  auto reader = stub_->StreamComplete(&context, request);
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("`best_of` is 2 and `n` is 1"));
  auto unary = std::async(std::launch::async, [&] { return Complete(request); });
  engine_.AwaitRequest(2);
  engine_.Emit(1, {'z'});  // log-probabilities fall with the id
  engine_.Emit(2, {'b'});
  for (const RequestHandle handle : {1, 2}) engine_.Finish(handle, FinishReason::kLength);
  const v1::CompleteResponse answer = unary.get().response;
  EXPECT_EQ(answer.text(), "b");
  EXPECT_EQ(answer.other_answers_size(), 0);
  EXPECT_EQ(answer.usage().output_tokens(), 2u);
}

}  // namespace
}  // namespace affine
