#include "model/checkpoint/token_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/checkpoint/checkpoint_builder.h"

namespace affine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ModelConfig Read(const nlohmann::json& config, const nlohmann::json& generation) {
  ModelConfig model;
  model.vocab_size = 100;
  ReadTokenIds(JsonObject(config, "config.json"), model);
  ReadGenerationDefaults(JsonObject(generation, "generation_config.json"), model);
  return model;
}

std::string GenerationError(const nlohmann::json& generation) {
  return ErrorOf([&] { Read(nlohmann::json::object(), generation); });
}

const nlohmann::json kEmpty = nlohmann::json::object();

TEST(TokenDefaultsTest, AbsentMeansNoTokensAndNeutralSampling) {
  const ModelConfig model = Read(kEmpty, kEmpty);
  EXPECT_EQ(model.bos_token_id, -1);
  EXPECT_THAT(model.eos_token_ids, IsEmpty());
  EXPECT_EQ(model.default_temperature, 1.0f);
  EXPECT_EQ(model.default_top_k, 0);
  EXPECT_EQ(model.default_top_p, 1.0f);
  EXPECT_EQ(model.default_min_p, 0.0f);
  EXPECT_EQ(model.default_repetition_penalty, 1.0f);
}

TEST(TokenDefaultsTest, GenerationConfigWinsWhereItSpeaks) {
  const nlohmann::json config = {{"bos_token_id", 1}, {"eos_token_id", 2}};
  EXPECT_THAT(Read(config, kEmpty).eos_token_ids, ElementsAre(2));
  const ModelConfig model = Read(config, {{"eos_token_id", {9, 2, 9}}});
  EXPECT_EQ(model.bos_token_id, 1);
  EXPECT_THAT(model.eos_token_ids, ElementsAre(2, 9));
}

TEST(TokenDefaultsTest, MinusOneMeansNoSuchToken) {
  const ModelConfig model = Read({{"bos_token_id", -1}, {"eos_token_id", -1}}, kEmpty);
  EXPECT_EQ(model.bos_token_id, -1);
  EXPECT_THAT(model.eos_token_ids, IsEmpty());
}

TEST(TokenDefaultsTest, ReadsSamplingDefaults) {
  const ModelConfig model = Read(kEmpty, {{"temperature", 0.7},
                                          {"top_k", 20},
                                          {"top_p", 0.8},
                                          {"min_p", 0.05},
                                          {"repetition_penalty", 1.1}});
  EXPECT_FLOAT_EQ(model.default_temperature, 0.7f);
  EXPECT_EQ(model.default_top_k, 20);
  EXPECT_FLOAT_EQ(model.default_top_p, 0.8f);
  EXPECT_FLOAT_EQ(model.default_min_p, 0.05f);
  EXPECT_FLOAT_EQ(model.default_repetition_penalty, 1.1f);
  EXPECT_EQ(Read(kEmpty, {{"top_k", -1}}).default_top_k, 0);
}

TEST(TokenDefaultsTest, RefusesValuesOutOfRange) {
  EXPECT_THAT(GenerationError({{"temperature", -0.1}}),
              HasSubstr("generation_config.json: temperature is -0.1"));
  EXPECT_THAT(GenerationError({{"top_p", 0.0}}), HasSubstr("top_p is 0.0"));
  EXPECT_THAT(GenerationError({{"top_p", 1e-60}}), HasSubstr("above 0"));
  EXPECT_THAT(GenerationError({{"top_p", 1.5}}), HasSubstr("top_p is 1.5"));
  EXPECT_THAT(GenerationError({{"min_p", -0.1}}), HasSubstr("min_p is -0.1"));
  EXPECT_THAT(GenerationError({{"min_p", 1.5}}), HasSubstr("min_p is 1.5"));
  EXPECT_THAT(GenerationError({{"repetition_penalty", 0}}), HasSubstr("above 0, up to 100"));
  EXPECT_THAT(GenerationError({{"repetition_penalty", 101}}),
              HasSubstr("repetition_penalty is 101"));
  EXPECT_THAT(GenerationError({{"top_k", -2}}), HasSubstr("top_k is -2"));
  EXPECT_THAT(GenerationError({{"eos_token_id", 100}}), HasSubstr("from -1 to 99"));
  EXPECT_THAT(GenerationError({{"eos_token_id", {1, "x"}}}), HasSubstr("eos_token_id is a list"));
}

}  // namespace
}  // namespace affine
