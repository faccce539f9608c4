#include "model/checkpoint/attention_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/checkpoint/checkpoint_builder.h"

namespace affine {
namespace {

using testing::AllOf;
using testing::HasSubstr;

AttentionSpec Read(const nlohmann::json& attention) {
  const nlohmann::json config = {{"attention", attention}};
  return ReadAttentionSpec(JsonObject(config, "config.json"));
}

std::string ReadError(const nlohmann::json& attention) {
  return ErrorOf([&] { Read(attention); });
}

TEST(AttentionConfigTest, AbsentMeansPlainSoftmax) {
  const nlohmann::json config = nlohmann::json::object();
  for (const AttentionSpec& spec :
       {ReadAttentionSpec(JsonObject(config, "config.json")), Read(nullptr),
        Read(nlohmann::json::object()), Read({{"affine", nullptr}})}) {
    EXPECT_EQ(spec.denominator, Denominator::kSoftmax);
    EXPECT_FALSE(spec.affine.has_value());
    EXPECT_EQ(spec.gate, Gate::kNone);
  }
}

TEST(AttentionConfigTest, ReadsEveryMemberOfTheFamily) {
  const std::pair<const char*, Denominator> denominators[] = {
      {"softmax", Denominator::kSoftmax},
      {"off_by_one", Denominator::kOffByOne},
      {"learned_sink", Denominator::kLearnedSink}};
  const std::pair<const char*, Gate> gates[] = {
      {"none", Gate::kNone}, {"headwise", Gate::kHeadwise}, {"elementwise", Gate::kElementwise}};
  const nlohmann::json affine = {{"alpha_activation", "sigmoid"}, {"normalizer", "visible"}};
  for (const auto& [denominator_name, denominator] : denominators) {
    for (const auto& [gate_name, gate] : gates) {
      for (const bool scaled : {false, true}) {
        const AttentionSpec spec = Read({{"denominator", denominator_name},
                                         {"affine", scaled ? affine : nlohmann::json()},
                                         {"gate", gate_name}});
        EXPECT_EQ(spec.denominator, denominator);
        EXPECT_EQ(spec.gate, gate);
        EXPECT_EQ(spec.affine.has_value(), scaled);
      }
    }
  }
}

TEST(AttentionConfigTest, ReadsActivationAndNormalizer) {
  const auto visible =
      Read({{"affine", {{"alpha_activation", "linear_clipping"}, {"normalizer", "visible"}}}});
  EXPECT_EQ(visible.affine->activation, AlphaActivation::kLinearClipping);
  EXPECT_EQ(visible.affine->fixed_normalizer, std::nullopt);
  const auto fixed = Read({{"affine", {{"alpha_activation", "sigmoid"}, {"normalizer", 2048}}}});
  EXPECT_EQ(fixed.affine->activation, AlphaActivation::kSigmoid);
  EXPECT_EQ(fixed.affine->fixed_normalizer, 2048);
}

TEST(AttentionConfigTest, RefusesUnknownKeysAndValuesByName) {
  EXPECT_THAT(ReadError({{"denominators", "softmax"}}), HasSubstr("\"denominators\""));
  EXPECT_THAT(ReadError({{"denominator", "entmax"}}),
              AllOf(HasSubstr("\"entmax\""), HasSubstr("\"learned_sink\"")));
  EXPECT_THAT(ReadError({{"gate", true}}), HasSubstr("gate is true"));
  EXPECT_THAT(ReadError({{"affine", true}}), HasSubstr("affine is true"));
  EXPECT_THAT(ReadError("softmax"), HasSubstr("attention is \"softmax\""));
  EXPECT_THAT(ReadError({{"affine", {{"beta", 1}}}}), HasSubstr("config.json: attention: affine"));
}

TEST(AttentionConfigTest, RefusesAnAffineScaleThatIsNotWhole) {
  EXPECT_THAT(ReadError({{"affine", {{"normalizer", 4}}}}),
              HasSubstr("alpha_activation is absent"));
  EXPECT_THAT(ReadError({{"affine", {{"alpha_activation", "tanh"}, {"normalizer", 4}}}}),
              HasSubstr("\"tanh\""));
  for (const nlohmann::json& bad : std::vector<nlohmann::json>{
           nullptr, 0, -1, 1.5, "seen", 134217729, nlohmann::json::array(), true}) {
    EXPECT_THAT(ReadError({{"affine", {{"alpha_activation", "sigmoid"}, {"normalizer", bad}}}}),
                HasSubstr("normalizer is"))
        << bad;
  }
}

}  // namespace
}  // namespace affine
