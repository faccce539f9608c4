#include "server/api/grpc/completion_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/server/api/grpc/grpc_fixture.h"

namespace affine {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

class CompletionSessionTest : public GrpcFixture {
 protected:
  CompletionSessionTest() { Serve({}, time_); }

  /// The engine has request 1's first token 30 ms from now and tells it 20 ms later.
  void EmitFirst() {
    time_.Advance(milliseconds(30));
    const Clock::Time sampled = time_.Now();
    time_.Advance(milliseconds(20));
    engine_.EmitFirst(1, 'a', sampled);
  }
};

TEST_F(CompletionSessionTest, AStreamsFirstTokenCountsWhenItIsWritten) {
  grpc::ClientContext context;
  auto reader = stub_->StreamComplete(&context, Prompt("hi"));
  const Request request = engine_.AwaitRequest(1);
  EXPECT_EQ(request.arrival, time_.Now());
  EmitFirst();
  v1::CompleteChunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  EXPECT_THAT(observer_.first_tokens(), ElementsAre(milliseconds(50)));
  EXPECT_THAT(observer_.first_token_models(), ElementsAre("tiny"));
  EXPECT_EQ(request.sink->first_write(), request.arrival + milliseconds(50));
  time_.Advance(milliseconds(5));
  engine_.Emit(1, Ids("b"));
  engine_.Finish(1, FinishReason::kStop);
  while (reader->Read(&chunk)) {
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(observer_.first_tokens().size(), 1u);
}

TEST_F(CompletionSessionTest, AFirstTokenThatIsAlsoTheLastCountsWhenItIsWritten) {
  grpc::ClientContext context;
  auto reader = stub_->StreamComplete(&context, Prompt("hi"));
  engine_.AwaitRequest(1);
  time_.Advance(milliseconds(40));
  TokenEvent event;
  event.tokens = {ScriptedEngine::Scored('a')};
  event.first_token = time_.Now() - milliseconds(15);
  event.finish.emplace().reason = FinishReason::kLength;
  engine_.Push(1, event);
  v1::CompleteChunk chunk;
  ASSERT_TRUE(reader->Read(&chunk));
  EXPECT_THAT(observer_.first_tokens(), ElementsAre(milliseconds(40)));
  EXPECT_THAT(observer_.first_token_models(), ElementsAre("tiny"));
}

TEST_F(CompletionSessionTest, AUnaryAnswersFirstTokenCountsWhenTheEngineHadIt) {
  auto unary = std::async(std::launch::async, [&] { return Complete(Prompt("hi")); });
  const auto sink = engine_.AwaitRequest(1).sink;
  EmitFirst();
  engine_.Emit(1, Ids("b"));
  engine_.Finish(1, FinishReason::kStop);
  EXPECT_EQ(unary.get().response.text(), "ab");
  EXPECT_THAT(observer_.first_tokens(), ElementsAre(milliseconds(30)));
  EXPECT_THAT(observer_.first_token_models(), ElementsAre("tiny"));
  EXPECT_EQ(sink->first_write(), std::nullopt);
}

TEST_F(CompletionSessionTest, AnAnswerWithoutATokenHasNoFirstOne) {
  grpc::ClientContext context;
  auto reader = stub_->StreamComplete(&context, Prompt("hi"));
  engine_.AwaitRequest(1);
  engine_.Cancel(1, RequestError{ErrorCause::kDeadline, "late", ""});
  v1::CompleteChunk chunk;
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(observer_.first_tokens(), ElementsAre());
}

}  // namespace
}  // namespace affine
