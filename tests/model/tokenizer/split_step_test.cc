#include "model/tokenizer/split_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/tokenizer/tiny_tokenizer.h"

namespace affine {
namespace {

using Pieces = std::vector<std::string>;
using testing::HasSubstr;

Pieces Split(const SplitStep& step, std::string_view text) {
  SplitScratch scratch;
  std::vector<std::string_view> pieces;
  step.Split(text, &scratch, &pieces);
  return Pieces(pieces.begin(), pieces.end());
}

Config Pattern(const std::string& kind, const std::string& pattern, const std::string& behavior,
               bool invert = false) {
  const nlohmann::json config = {{"type", "Split"},
                                 {"pattern", {{kind, pattern}}},
                                 {"behavior", behavior},
                                 {"invert", invert}};
  return Config(config.dump());
}

Pieces SplitBy(const std::string& kind, const std::string& pattern, const std::string& behavior,
               std::string_view text, bool invert = false) {
  const Config config = Pattern(kind, pattern, behavior, invert);
  return Split(*MakePatternStep(config.node()), text);
}

TEST(SplitStepTest, EachBehaviorTreatsMatchesInItsWay) {
  const std::string text = "the-final--countdown";
  for (const char* kind : {"String", "Regex"}) {
    const auto split = [&](const char* behavior) { return SplitBy(kind, "-", behavior, text); };
    EXPECT_EQ(split("Isolated"), (Pieces{"the", "-", "final", "-", "-", "countdown"}));
    EXPECT_EQ(split("Removed"), (Pieces{"the", "final", "countdown"}));
    EXPECT_EQ(split("MergedWithPrevious"), (Pieces{"the-", "final-", "-", "countdown"}));
    EXPECT_EQ(split("MergedWithNext"), (Pieces{"the", "-final", "-", "-countdown"}));
    EXPECT_EQ(split("Contiguous"), (Pieces{"the", "-", "final", "--", "countdown"}));
  }
}

TEST(SplitStepTest, InvertMakesTheRestTheMatch) {
  const std::string text = "ab--c";
  EXPECT_EQ(SplitBy("Regex", "[a-z]+", "Removed", text, true), (Pieces{"ab", "c"}));
  EXPECT_EQ(SplitBy("String", "c", "Removed", text, true), Pieces{"c"});
  EXPECT_EQ(SplitBy("Regex", "[a-z]", "Isolated", text, true), (Pieces{"a", "b", "--", "c"}));
  EXPECT_EQ(SplitBy("Regex", "[a-z]+", "MergedWithPrevious", text, true), (Pieces{"ab--", "c"}));
}

TEST(SplitStepTest, MatchesAtBothEndsMakeNoEmptyPieces) {
  EXPECT_EQ(SplitBy("String", "-", "Isolated", "-a-"), (Pieces{"-", "a", "-"}));
  EXPECT_EQ(SplitBy("String", "-", "MergedWithNext", "-a-"), (Pieces{"-a", "-"}));
  EXPECT_EQ(SplitBy("Regex", "-", "MergedWithPrevious", "-a-"), (Pieces{"-", "a-"}));
  EXPECT_EQ(SplitBy("Regex", "-", "Removed", "---"), Pieces{});
  EXPECT_EQ(SplitBy("Regex", "x", "Removed", "abc"), Pieces{"abc"});
}

TEST(SplitStepTest, EmptyMatchesCutWithoutTakingText) {
  EXPECT_EQ(SplitBy("Regex", "(?=[A-Z])", "Isolated", "camelCaseÉtat"),
            (Pieces{"camel", "CaseÉtat"}));
  EXPECT_EQ(SplitBy("Regex", "x*", "Isolated", "aéxxb"), (Pieces{"a", "é", "xx", "b"}));
}

TEST(SplitStepTest, AStringIsNoPattern) {
  EXPECT_EQ(SplitBy("String", ".*", "Removed", "a.*b"), (Pieces{"a", "b"}));
}

TEST(SplitStepTest, DigitsAreCutOutAloneOrInRuns) {
  const Config alone(R"({"individual_digits": true})"), runs(R"({"individual_digits": false})");
  const std::string text = "a12b ٣४x²½Ⅷ9";
  EXPECT_EQ(Split(*MakeDigitStep(alone.node()), text),
            (Pieces{"a", "1", "2", "b ", "٣", "४", "x", "²", "½", "Ⅷ", "9"}));
  EXPECT_EQ(Split(*MakeDigitStep(runs.node()), text), (Pieces{"a", "12", "b ", "٣४", "x", "²½Ⅷ9"}));
  EXPECT_EQ(Split(*MakeDigitStep(alone.node()), "7"), Pieces{"7"});
  EXPECT_EQ(Split(*MakeDigitStep(runs.node()), "no"), Pieces{"no"});
}

TEST(SplitStepTest, ByteLevelCutsAsGpt2Does) {
  EXPECT_EQ(
      Split(*MakeByteLevelStep(), "I'll  say 'no'12 times\n\n  x!? "),
      (Pieces{"I", "'ll", " ", " say", " '", "no", "'", "12", " times", "\n\n ", " x", "!?", " "}));
  EXPECT_EQ(Split(*MakeByteLevelStep(), "I'LL a\u00A0b"),
            (Pieces{"I", "'", "LL", " a", "\u00A0", "b"}));
}

TEST(SplitStepTest, TheLlama3PatternCutsAsPublished) {
  const std::string pattern =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  EXPECT_EQ(SplitBy("Regex", pattern, "Isolated", "I'LL pay $12345.6 (ok)\n\n  if\tx:\r\n"),
            (Pieces{"I", "'LL", " pay", " $", "123", "45", ".", "6", " (", "ok", ")\n\n", " ",
                    " if", "\tx", ":\r\n"}));
  EXPECT_EQ(SplitBy("Regex", pattern, "Isolated", "e\u0301a \u180E b"),
            (Pieces{"e", "\u0301a", " \u180E", " b"}));
}

TEST(SplitStepTest, BadConfigurationsAreNamed) {
  const auto error = [](const std::string& text) {
    return ErrorOf([&] { MakePatternStep(Config(text).node()); });
  };
  EXPECT_THAT(error(R"({"behavior": "Sideways", "invert": false, "pattern": {"String": "a"}})"),
              HasSubstr("behavior \"Sideways\" is not known"));
  EXPECT_THAT(error(R"({"behavior": "Isolated", "pattern": {"String": "a"}})"),
              HasSubstr("invert: must be true or false, is absent"));
  EXPECT_THAT(error(R"({"behavior": "Isolated", "invert": false, "pattern": "a"})"),
              HasSubstr("pattern: must be an object"));
  EXPECT_THAT(error(R"({"behavior": "Isolated", "invert": false, "pattern": {}})"),
              HasSubstr("one member"));
  EXPECT_THAT(error(R"({"behavior": "Isolated", "invert": false, "pattern": {"Glob": "a"}})"),
              HasSubstr("\"Glob\" is neither Regex nor String"));
  EXPECT_THAT(error(R"({"behavior": "Isolated", "invert": false, "pattern": {"String": ""}})"),
              HasSubstr("pattern.String: must not be empty"));
  EXPECT_THAT(error(R"({"behavior": "Isolated", "invert": false, "pattern": {"Regex": "a(b"}})"),
              HasSubstr("pattern.Regex: \"a(b\""));
  EXPECT_THAT(error(R"({"behavior": "Isolated", "invert": false, "pattern": {"Regex": "\\h"}})"),
              HasSubstr("the escape '\\h' is not supported"));
  EXPECT_THAT(ErrorOf([] { MakeDigitStep(Config("{}").node()); }), HasSubstr("individual_digits"));
}

}  // namespace
}  // namespace affine
