#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "server/api/grpc/completion_service.h"
#include "tests/server/api/grpc/grpc_fixture.h"
#include "tests/server/request/observed_heads.h"

namespace affine {
namespace {

using ::testing::ElementsAre;

const FixedStabilitySource kObserved({2, 2, 7, ObservedHeads()});

class StabilityServiceTest : public GrpcFixture {
 protected:
  explicit StabilityServiceTest(const StabilitySource* source = &kObserved)
      : GrpcFixture({}, source) {
    Serve();
  }
  struct AttentionAnswer {
    grpc::Status status;
    v1::GetAttentionResponse response;
  };
  AttentionAnswer GetAttention(const std::string& model = "") {
    v1::GetAttentionRequest request;
    request.set_model(model);
    grpc::ClientContext context;
    AttentionAnswer answer;
    answer.status = stub_->GetAttention(&context, request, &answer.response);
    return answer;
  }
  /// One token, then an end for instability.
  void Play(RequestHandle handle) {
    EXPECT_TRUE(engine_.AwaitRequest(handle).stability);
    engine_.Emit(handle, Ids("a"));
    RequestFinish finish;
    finish.reason = FinishReason::kUnstable;
    finish.stability = std::make_shared<std::vector<HeadStability>>(ObservedHeads());
    engine_.Finish(handle, finish);
  }
};

class UnobservedServiceTest : public StabilityServiceTest {
 protected:
  UnobservedServiceTest() : StabilityServiceTest(nullptr) {}
};

const FixedStabilitySource kNothingYet({2, 2, 0, std::vector<HeadStability>(4)});

class NothingYetServiceTest : public StabilityServiceTest {
 protected:
  NothingYetServiceTest() : StabilityServiceTest(&kNothingYet) {}
};

TEST_F(StabilityServiceTest, TheLastMessageHasTheSummaryUnaryAndAsAStream) {
  v1::CompleteRequest request = Prompt("hi");
  request.set_stability(true);
  request.set_stability_heads(true);
  auto unary = std::async(std::launch::async, [&] { return Complete(request); });
  Play(1);
  const UnaryAnswer answer = unary.get();
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.response.text(), "a");
  EXPECT_EQ(answer.response.finish_reason(), v1::FINISH_REASON_UNSTABLE);
  EXPECT_EQ(answer.response.stability().queries(), 4u);
  EXPECT_THAT(answer.response.stability().heads().queries(), ElementsAre(4, 4, 0, 2));

  grpc::ClientContext context;
  auto reader = stub_->StreamComplete(&context, request);
  Play(2);
  v1::CompleteChunk chunk;
  while (reader->Read(&chunk)) {
    EXPECT_EQ(chunk.has_stability(), chunk.has_usage());
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(chunk.finish_reason(), v1::FINISH_REASON_UNSTABLE);
  EXPECT_EQ(chunk.stability().SerializeAsString(), answer.response.stability().SerializeAsString());
}

TEST_F(StabilityServiceTest, HeadsWithoutTheSummaryAreRefused) {
  v1::CompleteRequest request = Prompt("hi");
  request.set_stability_heads(true);
  grpc::ClientContext context;
  EXPECT_EQ(Complete(request, context).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(MetadataValue(context.GetServerTrailingMetadata(), "error-param"), "stability_heads");
}

TEST_F(StabilityServiceTest, GetAttentionGivesTheMatricesOfTheModel) {
  for (const char* name : {"", "tiny"}) {
    const auto [status, response] = GetAttention(name);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.model(), "tiny");
    EXPECT_EQ(response.observed_steps(), 7u);
    EXPECT_THAT(response.heads().entropy(), ElementsAre(2, 0.5, 0, 0.5));
  }
}

TEST_F(StabilityServiceTest, GetAttentionOfAnUnknownModelIsNotFound) {
  const grpc::Status status = GetAttention("other").status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "the model `other` is not served here; served models: `tiny`");
}

TEST_F(UnobservedServiceTest, GetAttentionNamesTheFlag) {
  const grpc::Status status = GetAttention().status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(status.error_message(),
            "the attention of `tiny` is not observed: --stability_sample_every is 0; start the "
            "server with 1 or more");
}

TEST_F(NothingYetServiceTest, GetAttentionIsAllZero) {
  const auto [status, response] = GetAttention();
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(response.observed_steps(), 0u);
  EXPECT_EQ(response.heads().num_layers(), 2u);
  EXPECT_THAT(response.heads().entropy(), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(response.heads().alpha_ma(), ElementsAre(0, 0, 0, 0));
}

}  // namespace
}  // namespace affine
