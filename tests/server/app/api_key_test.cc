#include "server/app/api_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace affine {
namespace {

using testing::HasSubstr;

std::variant<std::string, Outcome> FromFile(const std::string& path) {
  Config config;
  config.api_key_file = path;
  return ReadApiKey(config);
}

Outcome Failure(const std::string& path) { return std::get<Outcome>(FromFile(path)); }

TEST(ApiKeyTest, TakesTheFlagsKeyWithoutAFile) {
  Config config;
  EXPECT_EQ(std::get<std::string>(ReadApiKey(config)), "");
  config.api_key = "k";
  EXPECT_EQ(std::get<std::string>(ReadApiKey(config)), "k");
}

TEST(ApiKeyTest, ReadsAFileWithoutTheSpaceAroundTheKey) {
  const TempFolder folder;
  EXPECT_EQ(std::get<std::string>(FromFile(folder.Write("a", "s3cret\n"))), "s3cret");
  EXPECT_EQ(std::get<std::string>(FromFile(folder.Write("b", " \t s3cret \r\n\n"))), "s3cret");
}

TEST(ApiKeyTest, SaysWhatIsWrongWithAFileAndNeverShowsTheKey) {
  const TempFolder folder;
  EXPECT_EQ(Failure("/nonexistent").code, ExitCode::kConfig);
  EXPECT_THAT(Failure("/nonexistent").cause, HasSubstr("No such file"));
  EXPECT_THAT(Failure(folder.path()).cause, HasSubstr("can't be read"));
  EXPECT_THAT(Failure(folder.Write("empty", "\n")).cause, HasSubstr("it holds no key"));
  const Outcome odd = Failure(folder.Write("odd", "two words"));
  EXPECT_THAT(odd.cause, HasSubstr("printable ASCII"));
  EXPECT_THAT(odd.cause, testing::Not(HasSubstr("two words")));
  EXPECT_THAT(Failure(folder.Write("big", std::string(5000, 'k'))).cause,
              HasSubstr("at most 4096 bytes"));
}

}  // namespace
}  // namespace affine
