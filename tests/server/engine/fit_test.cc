#include "server/engine/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace affine {
namespace {

using testing::HasSubstr;

class FitTest : public testing::Test {
 protected:
  FitTest() {
    info_.max_model_len = 100;
    info_.block_size = 16;
    info_.num_blocks = 4;  // 64 tokens
  }
  std::optional<RequestError> Why(int32_t prompt, int32_t max_tokens) {
    Request request;
    request.prompt.assign(prompt, 1);
    request.max_tokens = max_tokens;
    return WhyNeverFits(request, info_);
  }
  ModelInfo info_;
};

TEST_F(FitTest, TheLastTokenNeedsNoPlaceInTheCache) {
  EXPECT_FALSE(Why(60, 5));
  const auto error = Why(60, 6);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->cause, ErrorCause::kBadInput);
  EXPECT_EQ(error->param, "max_tokens");
  EXPECT_THAT(error->message, HasSubstr("prompt has 60 tokens and max_tokens is 6"));
  EXPECT_THAT(error->message, HasSubstr("65 tokens to keep, but the cache holds 64"));
}

TEST_F(FitTest, APromptAloneMayFillTheCache) {
  EXPECT_FALSE(Why(64, 0));
  EXPECT_FALSE(Why(64, 1));
  EXPECT_EQ(Why(65, 0)->param, "prompt");
}

TEST_F(FitTest, TheModelsLengthCapsWhatIsNeeded) {
  info_.num_blocks = 7;
  EXPECT_FALSE(Why(50, 1000000));
  EXPECT_FALSE(Why(100, 2147483647));
}

TEST_F(FitTest, NamesPromptAndLengthOfAPromptTooLongForTheModel) {
  const auto error = Why(101, 0);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->param, "prompt");
  EXPECT_THAT(error->message, HasSubstr("prompt has 101 tokens; the model's length is 100"));
}

TEST_F(FitTest, EmptyPromptsAndNegativeCountsAreRefused) {
  EXPECT_EQ(Why(0, 5)->param, "prompt");
  EXPECT_EQ(Why(5, -1)->param, "max_tokens");
}

}  // namespace
}  // namespace affine
