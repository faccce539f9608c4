#include "server/request/served_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/request/byte_tokenizer.h"
#include "tests/server/request/observed_heads.h"
#include "tests/server/request/scripted_engine.h"

namespace affine {
namespace {

using ::testing::ElementsAre;

class ServedAttentionTest : public ::testing::Test {
 protected:
  void Serve(const StabilitySource* source, bool affine = true) {
    ModelInfo info = SmallModelInfo(tokenizer_);
    if (!affine) info.attention.affine.reset();
    engine_ = std::make_unique<ScriptedEngine>(info);
    models_.Add({"tiny", engine_.get(), &tokenizer_, 0, source});
  }
  ServedAttention Known(std::string_view name) {
    return std::get<ServedAttention>(AttentionOf(models_, name));
  }
  RequestError Refused(std::string_view name) {
    return std::get<RequestError>(AttentionOf(models_, name));
  }

  ByteTokenizer tokenizer_;
  std::unique_ptr<ScriptedEngine> engine_;
  ServedModels models_{{"tiny"}};
  const FixedStabilitySource source_{{2, 2, 7, ObservedHeads()}};
};

TEST_F(ServedAttentionTest, TellsOfTheModelThatWasAskedForOrTheFirst) {
  Serve(&source_);
  for (const char* name : {"", "tiny"}) {
    const ServedAttention attention = Known(name);
    EXPECT_EQ(attention.model, "tiny");
    EXPECT_EQ(attention.observed_steps, 7);
    EXPECT_THAT(attention.heads.entropy, ElementsAre(2, 0.5, 0, 0.5));
    EXPECT_THAT(attention.heads.alpha, ElementsAre(0.5, 0.75, 0, 0));
  }
}

TEST_F(ServedAttentionTest, AModelWithoutAffineScalingHasNoAlpha) {
  Serve(&source_, false);
  EXPECT_TRUE(Known("").heads.alpha.empty());
}

TEST_F(ServedAttentionTest, BeforeTheFirstObservedStepAllIsZero) {
  const FixedStabilitySource empty{{2, 2, 0, std::vector<HeadStability>(4)}};
  Serve(&empty);
  const ServedAttention attention = Known("");
  EXPECT_EQ(attention.observed_steps, 0);
  EXPECT_EQ(attention.heads.num_layers, 2);
  EXPECT_THAT(attention.heads.queries, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(attention.heads.alpha_ma, ElementsAre(0, 0, 0, 0));
}

TEST_F(ServedAttentionTest, AnUnknownModelIsNamedAsEverywhere) {
  Serve(&source_);
  const RequestError error = Refused("other");
  EXPECT_EQ(error.cause, ErrorCause::kUnknownModel);
  EXPECT_EQ(error.message, "the model `other` is not served here; served models: `tiny`");
}

TEST_F(ServedAttentionTest, WhereNothingIsObservedTheFlagIsNamed) {
  Serve(nullptr);
  const RequestError error = Refused("");
  EXPECT_EQ(error.cause, ErrorCause::kNotFound);
  EXPECT_EQ(error.model_name, "tiny");
  EXPECT_EQ(error.message,
            "the attention of `tiny` is not observed: --stability_sample_every is 0; start the "
            "server with 1 or more");
}

}  // namespace
}  // namespace affine
