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
  TextAssembler assembler(tokenizer, stops, true);
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
  TextAssembler assembler(tokenizer, stops, true);
  EXPECT_TRUE(assembler.Add(256));
  EXPECT_FALSE(assembler.Add('z'));
  EXPECT_FALSE(assembler.Finish());
  EXPECT_EQ(assembler.Take(), "x");
}

}  // namespace
}  // namespace affine
