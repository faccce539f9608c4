#include "server/request/text_assembler.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/utf8.h"
#include "tests/server/request/byte_tokenizer.h"

namespace affine {
namespace {

std::vector<int32_t> Bytes(std::string_view text) {
  std::vector<int32_t> ids;
  for (const char c : text) ids.push_back(static_cast<uint8_t>(c));
  return ids;
}

TEST(TextAssemblerTest, WaitsForTheRestOfACharacter) {
  const ByteTokenizer tokenizer;
  TextAssembler assembler(tokenizer, {}, true);
  for (const int32_t id : Bytes("\xf0\x9f\x98")) {
    EXPECT_FALSE(assembler.Add(id));
    EXPECT_EQ(assembler.Take(), "");
  }
  EXPECT_FALSE(assembler.Add(0x80));
  EXPECT_EQ(assembler.Take(), "\xf0\x9f\x98\x80");
}

TEST(TextAssemblerTest, AnInvalidPartIsReplacedOnce) {
  const ByteTokenizer tokenizer;
  TextAssembler assembler(tokenizer, {}, true);
  std::string text;
  for (const int32_t id : Bytes("a\xe2\x82z")) {
    assembler.Add(id);
    text += assembler.Take();
  }
  EXPECT_EQ(text, "a\xef\xbf\xbdz");
}

TEST(TextAssemblerTest, AnUnfinishedCharacterAtTheEndIsReplaced) {
  const ByteTokenizer tokenizer;
  TextAssembler assembler(tokenizer, {}, true);
  for (const int32_t id : Bytes("a\xe2\x82")) assembler.Add(id);
  EXPECT_EQ(assembler.Take(), "a");
  EXPECT_FALSE(assembler.Finish());
  EXPECT_EQ(assembler.Take(), "\xef\xbf\xbd");
}

TEST(TextAssemblerTest, TheReplacementAtTheEndCanCompleteAStopString) {
  const ByteTokenizer tokenizer;
  const std::vector<std::string> stops = {"a\xef\xbf\xbd"};
  TextAssembler assembler(tokenizer, {stops}, true);
  for (const int32_t id : Bytes("xa\xe2")) assembler.Add(id);
  EXPECT_TRUE(assembler.Finish());
  EXPECT_EQ(assembler.Take(), "x");
}

TEST(TextAssemblerTest, SpecialTokensAreSkippedOrShown) {
  const ByteTokenizer tokenizer;
  const int32_t special = tokenizer.first_special();
  for (const bool skip : {true, false}) {
    TextAssembler assembler(tokenizer, {}, skip);
    assembler.Add('a');
    assembler.Add(special);
    assembler.Add('b');
    EXPECT_EQ(assembler.Take(), skip ? "ab" : "a<bos>b");
  }
}

TEST(TextAssemblerTest, ASkippedSpecialTokenDoesNotBreakACharacter) {
  const ByteTokenizer tokenizer;
  TextAssembler assembler(tokenizer, {}, true);
  assembler.Add(0xc3);
  assembler.Add(tokenizer.first_special());
  assembler.Add(0xa9);
  EXPECT_EQ(assembler.Take(), "\xc3\xa9");
}

TEST(TextAssemblerTest, NothingFollowsAStopString) {
  const ByteTokenizer tokenizer({"xSTOPy"});
  const std::vector<std::string> stops = {"STOP"};
  TextAssembler assembler(tokenizer, {stops}, true);
  EXPECT_TRUE(assembler.Add(256));
  EXPECT_FALSE(assembler.Add('z'));
  EXPECT_FALSE(assembler.Finish());
  EXPECT_EQ(assembler.Take(), "x");
}

TEST(TextAssemblerTest, AStopStringCanBeIncluded) {
  const ByteTokenizer tokenizer({"xSTOPy"});
  const std::vector<std::string> stops = {"STOP"};
  TextAssembler assembler(tokenizer, {.strings = stops, .include = true}, true);
  assembler.Add('a');
  EXPECT_TRUE(assembler.Add(256));
  EXPECT_EQ(assembler.Take(), "axSTOP");
  EXPECT_FALSE(assembler.Add('z'));
  EXPECT_EQ(assembler.Take(), "");
}

TEST(TextAssemblerTest, AStopStringThatTheFirstTokensCompletePasses) {
  const ByteTokenizer tokenizer({}, {"<bos>"});
  const std::vector<std::string> stops = {"ab"};
  for (const bool include : {false, true}) {
    for (int32_t least = 0; least <= 7; ++least) {
      // "abab" and a special token between, which counts as a token and is no text.
      TextAssembler assembler(tokenizer,
                              {.strings = stops, .include = include, .min_tokens = least}, true);
      int32_t taken = 0;
      bool ended = false;
      for (const int32_t id : {int32_t{'a'}, int32_t{'b'}, 256, int32_t{'a'}, int32_t{'b'}}) {
        ++taken;
        if ((ended = assembler.Add(id))) break;
      }
      EXPECT_FALSE(assembler.Finish());
      EXPECT_EQ(ended, least < 5) << least;
      EXPECT_EQ(taken, least < 2 ? 2 : 5) << least;
      const std::string before = least < 2 ? "" : least < 5 ? "ab" : "abab";
      EXPECT_EQ(assembler.Take(), before + (ended && include ? "ab" : "")) << least;
    }
  }
}

TEST(TextAssemblerTest, AStopStringMayBeginInTheFirstTokens) {
  const ByteTokenizer tokenizer;
  const std::vector<std::string> stops = {"abc"};
  TextAssembler assembler(tokenizer, {.strings = stops, .min_tokens = 2}, true);
  EXPECT_FALSE(assembler.Add('a'));
  EXPECT_FALSE(assembler.Add('b'));
  EXPECT_TRUE(assembler.Add('c'));
  EXPECT_EQ(assembler.Take(), "");
}

}  // namespace
}  // namespace affine
