#include "model/checkpoint/checkpoint_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/model/checkpoint/checkpoint_builder.h"

namespace affine {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

class CheckpointFilesTest : public testing::Test {
 protected:
  void WriteIndex(const nlohmann::json& weight_map) {
    folder_.Write("model.safetensors.index.json",
                  nlohmann::json{{"weight_map", weight_map}}.dump());
  }
  std::string FindError() {
    return ErrorOf([&] { FindCheckpointFiles(folder_.path()); });
  }
  TempFolder folder_;
};

TEST_F(CheckpointFilesTest, PrefersTheSingleFile) {
  folder_.Write("model.safetensors", "");
  folder_.Write("other.safetensors", "");
  WriteIndex({{"t", "a.safetensors"}});
  const CheckpointFiles files = FindCheckpointFiles(folder_.path());
  EXPECT_THAT(files.paths, ElementsAre(EndsWith("/model.safetensors")));
  EXPECT_THAT(files.index, IsEmpty());
}

TEST_F(CheckpointFilesTest, TakesTheFilesOfAnIndexOnceEach) {
  WriteIndex({{"x", "b.safetensors"}, {"y", "sub/a.safetensors"}, {"z", "./b.safetensors"}});
  const CheckpointFiles files = FindCheckpointFiles(folder_.path());
  EXPECT_THAT(files.paths, ElementsAre(EndsWith("/b.safetensors"), EndsWith("/sub/a.safetensors")));
  EXPECT_EQ(files.index.at("z"), files.index.at("x"));
}

TEST_F(CheckpointFilesTest, TakesAllFilesWithoutAnIndex) {
  folder_.Write("b.safetensors", "");
  folder_.Write("a.safetensors", "");
  EXPECT_THAT(FindCheckpointFiles(folder_.path()).paths,
              ElementsAre(EndsWith("/a.safetensors"), EndsWith("/b.safetensors")));
}

TEST_F(CheckpointFilesTest, RefusesIndexPathsThatLeaveTheFolder) {
  for (const char* bad : {"../a.safetensors", "/etc/a.safetensors", "sub/../../a.safetensors", "",
                          "..", "config.json", "sub/../a.safetensors"}) {
    WriteIndex({{"t", bad}});
    EXPECT_THAT(FindError(), AllOf(HasSubstr("weight_map names"), HasSubstr("inside the folder")))
        << bad;
  }
  WriteIndex({{"t", std::string("a\0.safetensors", 14)}});
  EXPECT_THAT(FindError(), HasSubstr("\"a\\x00.safetensors\""));
}

TEST_F(CheckpointFilesTest, RefusesAnIndexOfAnotherForm) {
  WriteIndex({{"t", 1}});
  EXPECT_THAT(FindError(), HasSubstr("names no file for \"t\""));
  WriteIndex(nullptr);
  EXPECT_THAT(FindError(), HasSubstr("weight_map is absent"));
  WriteIndex("all");
  EXPECT_THAT(FindError(), HasSubstr("weight_map is \"all\""));
}

TEST_F(CheckpointFilesTest, RefusesPickledWeightsAndSaysWhy) {
  for (const char* name : {"pytorch_model.bin", "consolidated.00.pth", "model.pt"}) {
    const std::string path = folder_.Write(name, "x");
    EXPECT_THAT(FindError(), AllOf(HasSubstr("can run code"), HasSubstr("never loaded"),
                                   HasSubstr("Convert it to model.safetensors"), HasSubstr(name)));
    std::filesystem::remove(path);
  }
}

TEST_F(CheckpointFilesTest, NamesAnEmptyOrAbsentFolder) {
  EXPECT_THAT(FindError(), HasSubstr("has no *.safetensors file"));
  EXPECT_THAT(ErrorOf([] { FindCheckpointFiles("/nowhere/at/all"); }),
              HasSubstr("/nowhere/at/all"));
}

}  // namespace
}  // namespace affine
