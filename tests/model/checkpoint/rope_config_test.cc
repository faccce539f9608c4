#include "model/checkpoint/rope_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/checkpoint/checkpoint_builder.h"

namespace affine {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Type = RopeScaling::Type;

ModelConfig Read(const nlohmann::json& config) {
  ModelConfig model;
  ReadRope(JsonObject(config, "config.json"), model);
  return model;
}

std::string ReadError(const nlohmann::json& config) {
  return ErrorOf([&] { Read(config); });
}

nlohmann::json Llama3() {
  return {{"rope_type", "llama3"},
          {"factor", 8.0},
          {"low_freq_factor", 1.0},
          {"high_freq_factor", 4.0},
          {"original_max_position_embeddings", 8192}};
}

TEST(RopeConfigTest, AbsentMeansTenThousandUnscaled) {
  const ModelConfig model = Read(nlohmann::json::object());
  EXPECT_EQ(model.rope_theta, 10000.0);
  EXPECT_EQ(model.rope_scaling.type, Type::kNone);
}

TEST(RopeConfigTest, ReadsTheOldSpelling) {
  const ModelConfig model = Read({{"rope_theta", 500000}, {"rope_scaling", Llama3()}});
  EXPECT_EQ(model.rope_theta, 500000.0);
  EXPECT_EQ(model.rope_scaling.type, Type::kLlama3);
  EXPECT_EQ(model.rope_scaling.factor, 8.0);
  EXPECT_EQ(model.rope_scaling.low_freq_factor, 1.0);
  EXPECT_EQ(model.rope_scaling.high_freq_factor, 4.0);
  EXPECT_EQ(model.rope_scaling.original_max_position_embeddings, 8192);
}

TEST(RopeConfigTest, ReadsTheNewSpelling) {
  nlohmann::json parameters = Llama3();
  parameters["rope_theta"] = 500000.0;
  const ModelConfig scaled = Read({{"rope_parameters", parameters}});
  EXPECT_EQ(scaled.rope_theta, 500000.0);
  EXPECT_EQ(scaled.rope_scaling.type, Type::kLlama3);
  const ModelConfig plain =
      Read({{"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 1e6}}}});
  EXPECT_EQ(plain.rope_theta, 1e6);
  EXPECT_EQ(plain.rope_scaling.type, Type::kNone);
}

TEST(RopeConfigTest, ReadsLinearUnderItsOlderKey) {
  const ModelConfig model = Read({{"rope_scaling", {{"type", "linear"}, {"factor", 2}}}});
  EXPECT_EQ(model.rope_scaling.type, Type::kLinear);
  EXPECT_EQ(model.rope_scaling.factor, 2.0);
}

TEST(RopeConfigTest, RefusesUnknownTypesAndFieldsByName) {
  EXPECT_THAT(ReadError({{"rope_scaling", {{"rope_type", "yarn"}}}}),
              AllOf(HasSubstr("\"yarn\""), HasSubstr("\"llama3\"")));
  EXPECT_THAT(ReadError({{"rope_scaling", {{"rope_type", "linear"}, {"beta_fast", 32}}}}),
              HasSubstr("\"beta_fast\""));
  EXPECT_THAT(ReadError({{"rope_parameters", {{"partial_rotary_factor", 0.5}}}}),
              HasSubstr("partial_rotary_factor is 0.5"));
  EXPECT_THAT(ReadError({{"rope_scaling", {{"factor", 2.0}}}}), HasSubstr("needs a rope_type"));
}

TEST(RopeConfigTest, RefusesTwoSpellingsThatDisagree) {
  EXPECT_THAT(ReadError({{"rope_parameters", Llama3()}, {"rope_scaling", Llama3()}}),
              HasSubstr("rope_scaling is an object"));
  EXPECT_THAT(ReadError({{"rope_theta", 1e4}, {"rope_parameters", {{"rope_theta", 1e6}}}}),
              HasSubstr("must equal"));
}

TEST(RopeConfigTest, RefusesNumbersOutOfRange) {
  EXPECT_THAT(ReadError({{"rope_theta", 0}}), HasSubstr("rope_theta is 0"));
  EXPECT_THAT(ReadError({{"rope_theta", "big"}}), HasSubstr("rope_theta is \"big\""));
  for (const auto& [field, value] : std::vector<std::pair<const char*, nlohmann::json>>{
           {"factor", 0.5},
           {"factor", nullptr},
           {"low_freq_factor", 4.0},
           {"high_freq_factor", 0.0},
           {"original_max_position_embeddings", 0}}) {
    nlohmann::json scaling = Llama3();
    scaling[field] = value;
    EXPECT_THAT(ReadError({{"rope_scaling", scaling}}), HasSubstr("config.json: rope_scaling"))
        << field;
  }
}

}  // namespace
}  // namespace affine
