#include "model/tokenizer/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/tokenizer/tiny_tokenizer.h"

namespace affine {
namespace {

using Pieces = std::vector<std::string>;
using testing::HasSubstr;

constexpr char kPlainByteLevel[] =
    R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false})";
constexpr char kDigits[] = R"({"type": "Digits", "individual_digits": true})";

std::string Sequence(const std::vector<std::string>& steps) {
  std::string text = R"({"type": "Sequence", "pretokenizers": [)";
  for (size_t i = 0; i < steps.size(); ++i) text += (i > 0 ? ", " : "") + steps[i];
  return text + "]}";
}

Pieces Split(const std::string& config, std::string_view text) {
  const Config parsed(config);
  PreTokenizer::Scratch scratch;
  PreTokenizer(parsed.node()).Split(text, &scratch);
  return Pieces(scratch.pieces.begin(), scratch.pieces.end());
}

std::string Error(const std::string& config) {
  return ErrorOf([&] { PreTokenizer(Config(config).node()); });
}

TEST(PreTokenizerTest, ByteLevelAloneCutsByItsPatternUnlessToldNotTo) {
  const std::string regex = R"({"type": "ByteLevel", "add_prefix_space": false})";  // the default
  EXPECT_EQ(Split(regex, "a b12"), (Pieces{"a", " b", "12"}));
  EXPECT_EQ(Split(kPlainByteLevel, "a b12"), Pieces{"a b12"});
}

TEST(PreTokenizerTest, StepsFollowOneAnotherAndSeeOnlyTheirPiece) {
  // SmolLM's chain: the space before a digit ends its piece, so the pattern's lookahead sees an
  // end.
  const std::string smollm =
      Sequence({kDigits, R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})"});
  EXPECT_EQ(Split(smollm, "a  12  b"), (Pieces{"a", "  ", "1", "2", " ", " b"}));
}

TEST(PreTokenizerTest, SequencesMayNest) {
  EXPECT_EQ(Split(Sequence({Sequence({kDigits}), Sequence({kPlainByteLevel})}), "a1"),
            (Pieces{"a", "1"}));
}

TEST(PreTokenizerTest, APrefixSpaceGoesBeforeEveryPieceThatLacksOne) {
  const std::string spaced =
      R"({"type": "ByteLevel", "add_prefix_space": true, "use_regex": true})";
  EXPECT_EQ(Split(spaced, "a b"), (Pieces{" a", " b"}));
  EXPECT_EQ(Split(spaced, " a"), Pieces{" a"});
  EXPECT_EQ(Split(spaced, "\na"), (Pieces{" ", "\n", "a"}));
  EXPECT_EQ(Split(Sequence({kDigits, spaced}), "x12 y"), (Pieces{" x", " 1", " 2", " y"}));
  const std::string raw = R"({"type": "ByteLevel", "add_prefix_space": true, "use_regex": false})";
  EXPECT_EQ(Split(raw, "a b"), Pieces{" a b"});
}

TEST(PreTokenizerTest, AScratchMayBeUsedAgain) {
  const Config config(R"({"type": "ByteLevel", "add_prefix_space": true})");
  const PreTokenizer pre_tokenizer(config.node());
  PreTokenizer::Scratch scratch;
  for (const char* text : {"one two", "three", "a much longer text than the two before it"}) {
    pre_tokenizer.Split(text, &scratch);
    std::string joined;
    for (const std::string_view piece : scratch.pieces) joined += piece;
    EXPECT_EQ(joined, std::string(" ") + text);
  }
}

TEST(PreTokenizerTest, EverythingMayBeRemoved) {
  const std::string all =
      R"({"type": "Split", "pattern": {"Regex": "."}, "behavior": "Removed", "invert": false})";
  EXPECT_EQ(Split(Sequence({all, kPlainByteLevel}), "abc"), Pieces{});
}

TEST(PreTokenizerTest, OtherTypesAreRefusedByName) {
  for (const char* type : {"Metaspace", "Whitespace", "WhitespaceSplit", "Punctuation",
                           "BertPreTokenizer", "CharDelimiterSplit", "UnicodeScripts"}) {
    const std::string config = R"({"type": ")" + std::string(type) + R"("})";
    EXPECT_THAT(Error(config), HasSubstr("pre-tokenizer \"" + std::string(type) + "\" is not"));
    EXPECT_THAT(Error(Sequence({kDigits, config})), HasSubstr("pretokenizers[1]"));
  }
  EXPECT_THAT(Error("{}"), HasSubstr("type: must be a string, is absent"));
  EXPECT_THAT(Error(R"({"type": "Sequence"})"), HasSubstr("pretokenizers: must be an array"));
}

TEST(PreTokenizerTest, ByteLevelMustComeLastAndOnce) {
  EXPECT_THAT(Error("null"), HasSubstr("has no ByteLevel"));
  EXPECT_THAT(Error(kDigits), HasSubstr("has no ByteLevel"));
  EXPECT_THAT(Error(Sequence({})), HasSubstr("has no ByteLevel"));
  EXPECT_THAT(Error(Sequence({kPlainByteLevel, kDigits})), HasSubstr("behind ByteLevel"));
  EXPECT_THAT(Error(Sequence({kPlainByteLevel, kPlainByteLevel})), HasSubstr("behind ByteLevel"));
}

TEST(PreTokenizerTest, TheNumberOfStepsIsLimited) {
  EXPECT_THAT(Error(Sequence(std::vector<std::string>(33, kDigits))), HasSubstr("more than 32"));
}

}  // namespace
}  // namespace affine
