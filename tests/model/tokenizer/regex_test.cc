#include "model/tokenizer/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/tokenizer/tiny_tokenizer.h"

namespace affine {
namespace {

TEST(RegexTest, FindsTheFirstMatchFromAPlace) {
  const Regex regex("b+");
  RegexScratch scratch;
  Regex::Match match;
  ASSERT_TRUE(regex.Find("abbabb", 0, &scratch, &match));
  EXPECT_EQ(match.begin, 1u);
  EXPECT_EQ(match.end, 3u);
  ASSERT_TRUE(regex.Find("abbabb", 3, &scratch, &match));
  EXPECT_EQ(match.begin, 4u);
  EXPECT_FALSE(regex.Find("abba", 3, &scratch, &match));
}

TEST(RegexTest, LookaroundSeesTheTextBeforeThePlaceButNothingBehindTheEnd) {
  RegexScratch scratch;
  Regex::Match match;
  EXPECT_TRUE(Regex("(?<=a)b").Find("ab", 1, &scratch, &match));
  EXPECT_TRUE(Regex("a(?!b)").Find(std::string_view("ab").substr(0, 1), 0, &scratch, &match));
}

TEST(RegexTest, OneScratchServesSeveralPatterns) {
  RegexScratch scratch;
  Regex::Match match;
  const Regex a("(a)(b)?"), b("\\p{L}");
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(a.Find("xab", 0, &scratch, &match));
    EXPECT_EQ(match.end, 3u);
    EXPECT_TRUE(b.Find("1é", 0, &scratch, &match));
    EXPECT_EQ(match.begin, 1u);
    EXPECT_EQ(match.end, 3u);
  }
}

TEST(RegexTest, DeepRecursionLeavesTheMachineStackAlone) {
  RegexScratch scratch;
  Regex::Match match;
  const std::string text(1 << 20, 'a');
  ASSERT_TRUE(Regex("(?:a|b|cd)+").Find(text, 0, &scratch, &match));
  EXPECT_EQ(match.end, text.size());
}

TEST(RegexTest, EndlessBacktrackingEndsInAnErrorThatNamesThePattern) {
  RegexScratch scratch;
  Regex::Match match;
  const Regex regex("(?:a|aa)+[bd]");
  const std::string text(100, 'a');
  const std::string error = ErrorOf([&] { regex.Find(text + "c", 0, &scratch, &match); });
  EXPECT_THAT(error, testing::HasSubstr("(?:a|aa)+[bd]"));
  EXPECT_THAT(error, testing::HasSubstr("101 bytes"));
}

}  // namespace
}  // namespace affine
