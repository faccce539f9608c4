#include "server/request/stop_matcher.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace affine {
namespace {

/// The text before the first completed stop string, found the slow way.
std::string CutSlowly(const std::string& text, const std::vector<std::string>& stops,
                      bool& matched) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops) {
      if (stop.size() <= end && text.compare(end - stop.size(), stop.size(), stop) == 0) {
        longest = std::max(longest, stop.size());
      }
    }
    if (longest > 0) {
      matched = true;
      return text.substr(0, end - longest);
    }
  }
  matched = false;
  return text;
}

TEST(StopMatcherTest, WithoutStopStringsAllTextIsSettledAtOnce) {
  StopMatcher matcher({});
  std::string settled;
  EXPECT_FALSE(matcher.Feed("any text", settled));
  EXPECT_EQ(settled, "any text");
}

TEST(StopMatcherTest, HoldsBackWhatMightBeginAStopString) {
  const std::vector<std::string> stops = {"STOP"};
  StopMatcher matcher(stops);
  std::string settled;
  EXPECT_FALSE(matcher.Feed("go ST", settled));
  EXPECT_EQ(settled, "go ");
  EXPECT_FALSE(matcher.Feed("ST", settled));
  EXPECT_EQ(settled, "go ST");
  EXPECT_TRUE(matcher.Feed("OP and more", settled));
  EXPECT_EQ(settled, "go ST");
}

TEST(StopMatcherTest, FlushSettlesWhatWasHeldBack) {
  const std::vector<std::string> stops = {"STOP"};
  StopMatcher matcher(stops);
  std::string settled;
  EXPECT_FALSE(matcher.Feed("STO", settled));
  EXPECT_EQ(settled, "");
  matcher.Flush(settled);
  EXPECT_EQ(settled, "STO");
}

TEST(StopMatcherTest, TheStringThatIsCompletedFirstWins) {
  const std::vector<std::string> stops = {"abcd", "c"};
  StopMatcher matcher(stops);
  std::string settled;
  EXPECT_TRUE(matcher.Feed("xabcd", settled));
  EXPECT_EQ(settled, "xab");
}

TEST(StopMatcherTest, OfStringsThatEndTogetherTheLongestIsCut) {
  const std::vector<std::string> stops = {"c", "abc", "bc"};
  StopMatcher matcher(stops);
  std::string settled;
  EXPECT_TRUE(matcher.Feed("xabc", settled));
  EXPECT_EQ(settled, "x");
}

TEST(StopMatcherTest, TakesSixtyFourStringsOfAThousandBytesThatShareAllButTheirEnds) {
  std::vector<std::string> stops;
  for (int i = 0; i < 64; ++i) stops.push_back(std::string(1023, 'a') + static_cast<char>(1 + i));
  StopMatcher matcher(stops);
  std::string settled;
  EXPECT_FALSE(matcher.Feed(std::string(100000, 'a'), settled));
  EXPECT_EQ(settled.size(), 100000u - 1023u);
  EXPECT_TRUE(matcher.Feed("\x01", settled));
  EXPECT_EQ(settled.size(), 100000u - 1023u);
}

TEST(StopMatcherTest, EqualsTheSlowSearchOnRandomTextInRandomPieces) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  const auto word = [&](int least, int most) {
    std::string text;
    for (int i = least + below(most - least + 1); i > 0; --i)
      text += static_cast<char>('a' + below(2));
    return text;
  };
  int matches = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stops;
    for (int i = below(5); i > 0; --i) stops.push_back(word(2, 9));
    const std::string text = word(0, 40);
    bool expect_match = false;
    const std::string expected = CutSlowly(text, stops, expect_match);
    StopMatcher matcher(stops);
    std::string settled;
    bool matched = false;
    for (size_t at = 0; at < text.size() && !matched;) {
      const size_t piece = 1 + below(6);
      matched = matcher.Feed(text.substr(at, piece), settled);
      ASSERT_TRUE(expected.starts_with(settled)) << "leaked " << settled << " of " << text;
      at += piece;
    }
    if (!matched) matcher.Flush(settled);
    ASSERT_EQ(matched, expect_match) << text;
    ASSERT_EQ(settled, expected) << text;
    matches += matched;
  }
  EXPECT_GT(matches, 500);
  EXPECT_LT(matches, 2500);
}

}  // namespace
}  // namespace affine
