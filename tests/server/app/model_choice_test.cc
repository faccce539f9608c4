#include "server/app/model_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace affine {
namespace {

using testing::HasSubstr;

std::vector<ModelChoice> ChooseAll(const std::string& model, const std::string& name = "") {
  Config config;
  config.model = model;
  config.served_model_name = name;
  return std::get<std::vector<ModelChoice>>(ChooseModels(config));
}

ModelChoice Choose(const std::string& model, const std::string& name = "") {
  return ChooseAll(model, name).at(0);
}

std::string Error(const std::string& model, const std::string& name = "",
                  const std::string& shares = "") {
  Config config;
  config.model = model;
  config.served_model_name = name;
  config.kv_cache_shares = shares;
  const auto result = ChooseModels(config);
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

TEST(ModelChoiceTest, SeveralModelsAreServedInTheOrderGiven) {
  const auto models = ChooseAll("plain=/a,models/smol");
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0].name, "plain");
  EXPECT_EQ(models[0].folder, "/a");
  EXPECT_EQ(models[0].cache_share, 0.5);
  EXPECT_EQ(models[1].name, "smol");
  EXPECT_EQ(models[1].folder, "models/smol");
}

TEST(ModelChoiceTest, SeveralServedNamesFollowTheOrderOfTheFolders) {
  const auto models = ChooseAll("/m,/m,c=/n", "a,b,c");
  EXPECT_EQ(models[0].name, "a");
  EXPECT_EQ(models[1].name, "b");
  EXPECT_EQ(models[1].folder, "/m");
  EXPECT_EQ(models[2].name, "c");
  EXPECT_THAT(Error("/m,/n", "a"), HasSubstr("--served_model_name is 'a', but must have one name "
                                             "for each model of --model, of which there are 2"));
  EXPECT_THAT(Error("/m", "x,y"), HasSubstr("of which there are 1"));
  EXPECT_THAT(Error("/m,/n", "a,"), HasSubstr("one name for each model"));
}

TEST(ModelChoiceTest, ACommaInAFolderIsEscaped) {
  EXPECT_EQ(Choose("/a\\,b").folder, "/a,b");
  EXPECT_EQ(Choose("/a\\,b").name, "a,b");
}

TEST(ModelChoiceTest, TwoModelsOfOneNameAreRefused) {
  EXPECT_EQ(Error("x=/a,x=/b"),
            "--model is 'x=/a,x=/b', but two of its models are called 'x'; name each differently: "
            "--model=NAME=FOLDER,NAME=FOLDER");
  EXPECT_THAT(Error("/a/smol,/b/smol"), HasSubstr("two of its models are called 'smol'"));
  EXPECT_THAT(Error("/a,/b", "x,x"), HasSubstr("two of its models are called 'x'"));
}

TEST(ModelChoiceTest, AnEmptyPartIsRefused) {
  for (const char* list : {"/a,", ",/a", "/a,,/b", ","}) {
    EXPECT_THAT(Error(list),
                HasSubstr(std::string("--model is '") + list + "', but a part of it is empty"));
  }
}

TEST(ModelChoiceTest, AProcessServesSixteenModelsAndNoMore) {
  std::string list = "/m0";
  for (size_t i = 1; i < kMostModels; ++i) list += ",/m" + std::to_string(i);
  EXPECT_EQ(ChooseAll(list).size(), 16u);
  EXPECT_THAT(Error(list + ",/more"), HasSubstr("17 models, but one process serves at most 16"));
}

TEST(ModelChoiceTest, CacheSharesGoByTheServedNames) {
  Config config;
  config.model = "a=/m,/n";
  config.kv_cache_shares = "n=1,a=3";
  const auto models = std::get<std::vector<ModelChoice>>(ChooseModels(config));
  EXPECT_EQ(models[0].cache_share, 0.75);
  EXPECT_EQ(models[1].cache_share, 0.25);
  EXPECT_THAT(Error("a=/m,/n", "", "a=1"), HasSubstr("--kv_cache_shares is 'a=1', but 'n'"));
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
