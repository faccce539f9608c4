#include "model/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace affine {
namespace {

const std::string kBad = "\xEF\xBF\xBD";

struct Case {
  std::string bytes;
  std::string replaced;
};

TEST(Utf8Test, AcceptsTheFirstAndLastCharacterOfEachLength) {
  const std::vector<std::string> whole = {"",
                                          std::string(1, '\0'),
                                          "\x7F",
                                          "\xC2\x80",
                                          "\xDF\xBF",
                                          "\xE0\xA0\x80",
                                          "\xED\x9F\xBF",
                                          "\xEE\x80\x80",
                                          "\xEF\xBF\xBF",
                                          "\xF0\x90\x80\x80",
                                          "\xF4\x8F\xBF\xBF"};
  for (const std::string& text : whole) {
    EXPECT_TRUE(IsValidUtf8(text)) << testing::PrintToString(text);
    EXPECT_EQ(ReplaceInvalidUtf8(text), text);
    EXPECT_EQ(IncompleteUtf8Suffix(text), 0u);
  }
}

TEST(Utf8Test, ReplacesEachMaximalInvalidPartOnce) {
  const std::vector<Case> cases = {
      {"\x80", kBad},                                   // a continuation alone
      {"\x80\xBF", kBad + kBad},                        // two of them
      {"\xC0\xAF", kBad + kBad},                        // overlong, two bytes
      {"\xE0\x80\xAF", kBad + kBad + kBad},             // overlong, three bytes
      {"\xE0\x9F\x80", kBad + kBad + kBad},             //
      {"\xF0\x80\x80\xAF", kBad + kBad + kBad + kBad},  // overlong, four bytes
      {"\xF0\x8F\xBF\xBF", kBad + kBad + kBad + kBad},  //
      {"\xED\xA0\x80", kBad + kBad + kBad},             // a surrogate
      {"\xF4\x90\x80\x80", kBad + kBad + kBad + kBad},  // above U+10FFFF
      {"\xF5", kBad},                                   // bytes that never occur
      {"\xFF\xFE", kBad + kBad},                        //
      {"\xC2", kBad},                                   // cut short
      {"\xE2\x82", kBad},                               //
      {"\xF0\x9F\x98", kBad},                           //
      {"\xE2\x82"
       "A",
       kBad + "A"},  // cut short by another character
      {"\xF0\x9F\x98\xF0\x9F\x98\x80", kBad + "\xF0\x9F\x98\x80"},
      {"\xE2\x28\xA1", kBad + "(" + kBad},  //
      {"a\xF1\x80\x80\xE1\x80\xC2"
       "b\x80"
       "c\x80\xBF"
       "d",  // Unicode's own example, table 3-11
       "a" + kBad + kBad + kBad + "b" + kBad + "c" + kBad + kBad + "d"},
      {"\xC3\xA9\xC3", "\xC3\xA9" + kBad},  //
  };
  for (const Case& c : cases) {
    EXPECT_FALSE(IsValidUtf8(c.bytes)) << testing::PrintToString(c.bytes);
    EXPECT_EQ(ReplaceInvalidUtf8(c.bytes), c.replaced) << testing::PrintToString(c.bytes);
    EXPECT_TRUE(IsValidUtf8(c.replaced));
  }
}

TEST(Utf8Test, FindsABadByteAnywhereInALongRunOfAscii) {
  for (size_t at = 0; at < 40; ++at) {
    std::string text(40, 'x');
    text[at] = '\x80';
    EXPECT_FALSE(IsValidUtf8(text)) << at;
    EXPECT_EQ(ReplaceInvalidUtf8(text), text.substr(0, at) + kBad + text.substr(at + 1)) << at;
  }
}

TEST(Utf8Test, TheIncompleteSuffixIsWhatMoreBytesCouldComplete) {
  const std::vector<std::pair<std::string, size_t>> cases = {
      {"", 0},
      {"a", 0},
      {"\xC3\xA9", 0},
      {"a\xC3", 1},
      {"\xE2", 1},
      {"\xE2\x82", 2},
      {"\xE2\x82\xAC", 0},
      {"\xF0", 1},
      {"\xF0\x9F", 2},
      {"\xF0\x9F\x98", 3},
      {"\xF0\x9F\x98\x80", 0},
      {"\xE0\x80", 0},          // overlong already
      {"\xED\xA0", 0},          // a surrogate already
      {"\xF4\x90", 0},          // too large already
      {"\xC0", 0},              // never a start
      {"\xFF", 0},              //
      {"\x80", 0},              //
      {"\x80\x80\x80\x80", 0},  //
      {"\xF0\x9F\x98\xC3", 1},  // the last start counts
      {"\xC3\xF0\x9F", 2},      //
      {"\xE2\x82"
       "a",
       0},  // broken off, nothing can complete it
  };
  for (const auto& [bytes, length] : cases) {
    EXPECT_EQ(IncompleteUtf8Suffix(bytes), length) << testing::PrintToString(bytes);
  }
}

TEST(Utf8Test, EveryCodePointSurvivesAndEveryCutOfItIsAnIncompleteSuffix) {
  for (uint32_t c = 0x80; c < 0x110000; c += 7) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    if (c < 0x800) {
      text = {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
    } else if (c < 0x10000) {
      text = {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)),
              static_cast<char>(0x80 | (c & 63))};
    } else {
      text = {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 63)),
              static_cast<char>(0x80 | (c >> 6 & 63)), static_cast<char>(0x80 | (c & 63))};
    }
    ASSERT_TRUE(IsValidUtf8(text)) << c;
    for (size_t cut = 1; cut < text.size(); ++cut) {
      ASSERT_EQ(IncompleteUtf8Suffix("x" + text.substr(0, cut)), cut) << c;
      ASSERT_EQ(ReplaceInvalidUtf8(text.substr(0, cut) + "x"), kBad + "x") << c;
    }
  }
}

}  // namespace
}  // namespace affine
