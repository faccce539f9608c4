#include "model/tokenizer/oniguruma_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "model/tokenizer/code_point.h"
#include "model/tokenizer/regex.h"

namespace affine {
namespace {

using testing::HasSubstr;

bool Matches(const std::string& pattern, const std::string& text) {
  RegexScratch scratch;
  Regex::Match match;
  return Regex("\\A(?:" + pattern + ")\\z").Find(text, 0, &scratch, &match);
}

bool MatchesCodePoint(const Regex& regex, uint32_t c) {
  RegexScratch scratch;
  Regex::Match match;
  std::string text;
  AppendUtf8(c, &text);
  return regex.Find(text, 0, &scratch, &match);
}

std::string Refusal(const std::string& pattern) {
  try {
    TranslateOnigurumaPattern(pattern);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  ADD_FAILURE() << pattern << " was not refused";
  return "";
}

TEST(OnigurumaPatternTest, WhatBothReadAlikeStaysAsItIs) {
  for (const char* pattern :
       {"abc", "a|b", "(a)(?:b)(?=c)(?!d)(?<=e)(?<!f)(?>g)", "a*b+c?d*?e+?f??g*+h++i?+",
        "a{2}b{2,}c{2,3}", "[abc-z^]", "[^a\\-\\]]", "\\p{L}\\P{N}\\p{Lu}", "\\r\\n\\t\\f\\a\\e",
        "\\.\\*\\(\\[\\\\\\|\\ ", "^a$", ".", "\\Aa\\z\\Z", "一-龥é", "(?i:'s|'t|'re)",
        "(?i)a(?-i:b)", "]", "}"}) {
    EXPECT_EQ(TranslateOnigurumaPattern(pattern), pattern);
  }
}

TEST(OnigurumaPatternTest, WhiteSpaceIsUnicodesAlone) {
  const Regex space("\\s"), no_space("\\S"), in_class("[\\s]"), no_space_in_class("[\\S]"),
      not_in_class("[^\\s]");
  for (uint32_t c = 0; c < 0x3100; ++c) {
    const bool expected = IsWhiteSpace(c);
    ASSERT_EQ(MatchesCodePoint(space, c), expected) << c;
    ASSERT_EQ(MatchesCodePoint(in_class, c), expected) << c;
    ASSERT_EQ(MatchesCodePoint(no_space, c), !expected) << c;
    ASSERT_EQ(MatchesCodePoint(no_space_in_class, c), !expected) << c;
    ASSERT_EQ(MatchesCodePoint(not_in_class, c), !expected) << c;
  }
  EXPECT_FALSE(MatchesCodePoint(space, 0x180E));  // PCRE2's own \s takes it
  EXPECT_TRUE(MatchesCodePoint(no_space, 0x10FFFF));
}

TEST(OnigurumaPatternTest, WordsAndDigitsGoBeyondAscii) {
  const Regex word("\\w");
  for (const uint32_t c :
       std::initializer_list<uint32_t>{'a', '9', '_', 0xE9, 0x301, 0x203F, 0xB2, 0x4E00, 0x966}) {
    EXPECT_TRUE(MatchesCodePoint(word, c)) << c;
  }
  for (const uint32_t c : std::initializer_list<uint32_t>{' ', '-', 0x2014, 0x20AC, 0x1F600}) {
    EXPECT_FALSE(MatchesCodePoint(word, c)) << c;
  }
  EXPECT_TRUE(Matches("\\W[\\w]", "-a"));
  EXPECT_TRUE(Matches("\\d[\\d]\\D[\\D]", "5٣xy"));
  EXPECT_FALSE(Matches("\\d", "²"));
  EXPECT_THAT(Refusal("[\\W]"), HasSubstr("\\W"));
}

TEST(OnigurumaPatternTest, CharactersByNumber) {
  EXPECT_TRUE(Matches("\\x41\\x{e9}\\u4e2d\\v", "Aé中\x0B"));
  EXPECT_FALSE(Matches("\\v", "\n"));  // a vertical tab alone
  for (const char* pattern :
       {"\\xe9", "\\x", "\\x{}", "\\x{123456789}", "\\x{zz}", "\\u12", "\\x{41"}) {
    EXPECT_THAT(Refusal(pattern), HasSubstr("the escape '\\")) << pattern;
  }
}

TEST(OnigurumaPatternTest, PropertiesAreCategoriesAndScripts) {
  EXPECT_EQ(TranslateOnigurumaPattern("\\p{^L}\\P{^N}[\\p{Han}]"), "\\P{L}\\p{N}[\\p{sc:Han}]");
  EXPECT_TRUE(Matches("\\p{Han}+", "中文"));
  EXPECT_FALSE(Matches("\\p{Han}", "、"));  // shared between scripts, not of this one
  for (const char* pattern : {"\\pL", "\\p{", "\\p{L&}", "\\p{Xa}", "\\p{}", "\\p{a b}"}) {
    EXPECT_THAT(Refusal(pattern), HasSubstr("not supported")) << pattern;
  }
  EXPECT_THROW(Regex("\\p{Nonsense}"), std::invalid_argument);
}

TEST(OnigurumaPatternTest, FoldingCaseStaysWithinAscii) {
  EXPECT_TRUE(Matches("(?i:'s|'t|'k)", "'S"));
  EXPECT_TRUE(Matches("(?i:'s)", "'ſ"));  // as Oniguruma does
  EXPECT_TRUE(Matches("(?i:'[sdmt])", "'T"));
  EXPECT_FALSE(Matches("(?i:a)b", "aB"));
  RegexScratch scratch;
  Regex::Match match;
  const Regex whole("(?i)a(b)(?-i:c)d");
  EXPECT_TRUE(whole.Find("ABcD", 0, &scratch, &match));
  EXPECT_FALSE(whole.Find("ABCD", 0, &scratch, &match));
  for (const char* pattern :
       {"(?i:ss)", "(?i:xST)", "(?i:(?:fi))", "(?i)fl", "(?i:é)", "(?i:\\p{Lu})", "(?i:[é])",
        "(?i:[^a])", "(?i:[\\w])", "(?i:\\x41)"}) {
    EXPECT_THAT(Refusal(pattern), HasSubstr("not supported")) << pattern;
  }
  EXPECT_EQ(TranslateOnigurumaPattern("(?i:s)s|ss"), "(?i:s)s|ss");
}

TEST(OnigurumaPatternTest, WhatTheTwoReadDifferentlyIsRefusedByName) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[[:alpha:]]", "'['"},   {"[a[b]]", "'['"},
      {"[a&&b]", "'&&'"},       {"[]a]", "']'"},
      {"[\\s-z]", "range"},     {"[a-\\w]", "range"},
      {"a{2}+", "'+' or '?'"},  {"a{2}?", "'+' or '?'"},
      {"a{,3}", "'{'"},         {"a{", "'{'"},
      {"a{1,2,3}", "'{'"},      {"a{x}", "'{'"},
      {"(?<name>a)", "'(?<n'"}, {"(?m:a)", "'(?m:'"},
      {"(?x)a", "'(?x)'"},      {"a(?i)b", "'(?i)'"},
      {"(?#c)", "'(?#c'"},      {"(*UTF)a", "'(*UT'"},
      {"(a)\\1", "'\\1'"},      {"\\h", "'\\h'"},
      {"\\R", "'\\R'"},         {"\\X", "'\\X'"},
      {"\\K", "'\\K'"},         {"\\G", "'\\G'"},
      {"\\b", "'\\b'"},         {"\\Qa\\E", "'\\Q'"},
      {"\\k<a>", "'\\k'"},      {"\\", "escape"},
      {"[\\z]", "'\\z'"},       {"\\é", "escape"},
  };
  for (const auto& [pattern, named] : cases) {
    EXPECT_THAT(Refusal(pattern), HasSubstr(named)) << pattern;
  }
  EXPECT_THAT(Refusal(std::string(70000, 'a')), HasSubstr("65536"));
}

TEST(OnigurumaPatternTest, BrokenSyntaxIsLeftToTheCompiler) {
  for (const char* pattern : {"(", ")", "[", "[a", "*", "a**", "(?<=a+)", "[z-a]", "(?:"}) {
    EXPECT_THROW(Regex{pattern}, std::invalid_argument) << pattern;
  }
}

TEST(OnigurumaPatternTest, AnchorsMeanLinesAsInRuby) {
  RegexScratch scratch;
  Regex::Match match;
  EXPECT_TRUE(Regex("^b$").Find("a\nb\nc", 0, &scratch, &match));
  EXPECT_EQ(match.begin, 2u);
  EXPECT_FALSE(Regex("a.b").Find("a\nb", 0, &scratch, &match));
  EXPECT_TRUE(Regex("a.b").Find("a\rb", 0, &scratch, &match));
}

}  // namespace
}  // namespace affine
