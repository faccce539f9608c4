#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/tokenizer/tiny_tokenizer.h"

namespace affine {
namespace {

using testing::HasSubstr;

TEST(LoadTokenizerTest, ReadsTokenizerJsonFromAFolder) {
  TemporaryFolder folder;
  folder.Write("tokenizer.json", TinyTokenizer().Merge("h", "i").text());
  const auto tokenizer = LoadTokenizer(folder.path());
  EXPECT_EQ(tokenizer->Encode("hi!", false), (std::vector<int32_t>{256, '!'}));
  EXPECT_EQ(tokenizer->vocab_size(), 257);
}

TEST(LoadTokenizerTest, AMissingFileIsNamedWithItsRemedy) {
  TemporaryFolder folder;
  const std::string error = ErrorOf([&] { LoadTokenizer(folder.path()); });
  EXPECT_THAT(error, HasSubstr(folder.path() + "/tokenizer.json"));
  EXPECT_THAT(error, HasSubstr("needs a tokenizer.json"));
  EXPECT_THAT(ErrorOf([&] { LoadTokenizer(folder.path() + "/absent"); }),
              HasSubstr("no such file"));
}

TEST(LoadTokenizerTest, AFolderInPlaceOfTheFileIsRefused) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() + "/tokenizer.json");
  EXPECT_THAT(ErrorOf([&] { LoadTokenizer(folder.path()); }), HasSubstr("no such file"));
}

TEST(LoadTokenizerTest, AFileBeyondTheLimitIsRefusedUnread) {
  TemporaryFolder folder;
  folder.Write("tokenizer.json", "{}");
  std::filesystem::resize_file(folder.path() + "/tokenizer.json", (256 << 20) + 1);  // sparse
  const std::string error = ErrorOf([&] { LoadTokenizer(folder.path()); });
  EXPECT_THAT(error, HasSubstr("has 268435457 bytes, allowed are 268435456"));
}

TEST(LoadTokenizerTest, ErrorsNameTheFile) {
  TemporaryFolder folder;
  folder.Write("tokenizer.json", TinyTokenizer().Set("/model/type", "Unigram").text());
  EXPECT_THAT(ErrorOf([&] { LoadTokenizer(folder.path()); }),
              HasSubstr(folder.path() + "/tokenizer.json: model.type: model \"Unigram\""));
}

}  // namespace
}  // namespace affine
