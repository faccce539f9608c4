#include "server/app/model_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace affine {
namespace {

using testing::HasSubstr;

ModelChoice Choose(const std::string& model, const std::string& name = "") {
  Config config;
  config.model = model;
  config.served_model_name = name;
  return std::get<ModelChoice>(ChooseModel(config));
}

std::string Error(const std::string& model, const std::string& name = "") {
  Config config;
  config.model = model;
  config.served_model_name = name;
  const auto result = ChooseModel(config);
  const auto* error = std::get_if<UsageError>(&result);
  return error != nullptr ? error->message : "no error";
}

TEST(ModelChoiceTest, AModelIsCalledAfterItsFolder) {
  EXPECT_EQ(Choose("models/smol").name, "smol");
  EXPECT_EQ(Choose("models/smol///").name, "smol");
  EXPECT_EQ(Choose("/a/b/../c").name, "c");
  EXPECT_EQ(Choose("models/smol/").folder, "models/smol/");
  EXPECT_NE(Choose(".").name, ".");
}

TEST(ModelChoiceTest, ANameCanBeGivenInTwoWays) {
  EXPECT_EQ(Choose("tiny=models/smol").name, "tiny");
  EXPECT_EQ(Choose("tiny=models/smol").folder, "models/smol");
  EXPECT_EQ(Choose("models/smol", "tiny").name, "tiny");
  EXPECT_EQ(Choose("tiny=models/smol", "tiny").name, "tiny");
  EXPECT_THAT(Error("tiny=models/smol", "other"), HasSubstr("give one of the two"));
}

TEST(ModelChoiceTest, AFolderMayHaveAnEqualsSignAfterASlash) {
  EXPECT_EQ(Choose("./a=b").folder, "./a=b");
  EXPECT_EQ(Choose("./a=b").name, "a=b");
}

TEST(ModelChoiceTest, SeveralModelsAreRefused) {
  EXPECT_THAT(Error("a,b"), HasSubstr("--model is 'a,b', but one process serves one model"));
  EXPECT_THAT(Error("a", "x,y"), HasSubstr("--served_model_name is 'x,y'"));
}

TEST(ModelChoiceTest, WhatIsMissingIsNamed) {
  EXPECT_THAT(Error(""), HasSubstr("no model was given"));
  EXPECT_THAT(Error("name="), HasSubstr("a folder must follow"));
  EXPECT_THAT(Error("=folder"), HasSubstr("from 1 to 256"));
  EXPECT_THAT(Error("/"), HasSubstr("--served_model_name"));
}

TEST(ModelChoiceTest, ANameMustBeFitForLabelsAndLogs) {
  EXPECT_THAT(Error("m", "a\nb"), HasSubstr("without control characters"));
  EXPECT_THAT(Error("m", "a\xff"), HasSubstr("must be UTF-8"));
  EXPECT_THAT(Error("m", std::string(257, 'a')), HasSubstr("has 257 bytes"));
  EXPECT_EQ(Choose("m", "Modèle \"1\"").name, "Modèle \"1\"");
}

}  // namespace
}  // namespace affine
