// Texts of megabytes, where a quadratic step would not come to an end within the test's time.
#include <gtest/gtest.h>

#include <string>

#include "tests/model/tokenizer/tiny_tokenizer.h"

namespace affine {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

TinyTokenizer& WithLlama3Pattern(TinyTokenizer& tiny) {
  return tiny.Set("/pre_tokenizer",
                  nlohmann::json::parse(R"json({"type": "Sequence", "pretokenizers": [
      {"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex":
       "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
      {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})json"));
}

std::string Repeat(const std::string& text, size_t bytes) {
  std::string all;
  while (all.size() < bytes) all += text;
  return all;
}

/// Merges a letter up to runs of 64.
TinyTokenizer WithRunsOf(const std::string& letter) {
  TinyTokenizer tiny;
  std::string run = letter;
  for (int i = 0; i < 6; ++i) {
    tiny.Merge(run, run);
    run += run;
  }
  return tiny;
}

TEST(LongTextTest, AMegabyteOfOneLetterMerges) {
  TinyTokenizer tiny = WithRunsOf("a");
  for (const auto& tokenizer : {tiny.Load(), WithLlama3Pattern(tiny).Load()}) {
    EXPECT_EQ(tokenizer->Encode(std::string(kMegabyte, 'a'), false),
              std::vector<int32_t>(kMegabyte / 64, 256 + 5));
    EXPECT_EQ(tokenizer->Encode(std::string(kMegabyte + 65, 'a'), false).size(),
              kMegabyte / 64 + 2);
  }
}

TEST(LongTextTest, AlternatingLettersLeaveNoQuadraticTail) {
  TinyTokenizer tiny;
  tiny.Merge("a", "b").Merge("ab", "ab").Merge("b", "a").Merge("ba", "ab");
  EXPECT_EQ(tiny.Encode(Repeat("ab", kMegabyte)).size(), kMegabyte / 4);
}

TEST(LongTextTest, MegabytesOfSpacesEndInALetter) {
  for (const char* space : {" ", "\t", "\u3000", " \n"}) {
    TinyTokenizer tiny;
    const std::string text = Repeat(space, 4 * kMegabyte) + "x";
    const auto plain = tiny.Load();
    EXPECT_EQ(plain->Decode(plain->Encode(text, false), false), text);
    const auto llama = WithLlama3Pattern(tiny).Load();
    EXPECT_EQ(llama->Encode(text, false), Bytes(text));
  }
}

TEST(LongTextTest, SeparateMegabytesOfEveryClassComeBack) {
  TinyTokenizer tiny;
  tiny.Set("/normalizer", {{"type", "NFC"}})
      .Added("<x>", {"lstrip", "rstrip"})
      .Added(" ", {"rstrip"});
  const auto tokenizer = WithLlama3Pattern(tiny).Load();
  for (const char* piece :
       {"9", "!", "\n", "世", "😀", "é", "'s", "a1 ", "\u0301", "\u1100\u1161", "<", "<x"}) {
    const std::string text = Repeat(piece, kMegabyte) + "z";
    const std::vector<int32_t> ids = tokenizer->Encode(text, false);
    EXPECT_EQ(ids.back(), 'z') << piece;
    EXPECT_GT(ids.size(), kMegabyte / 2) << piece;
  }
  EXPECT_EQ(tokenizer->Encode(std::string(kMegabyte, ' '), false).size(), kMegabyte);
  EXPECT_EQ(tokenizer->Encode(Repeat("<x> ", kMegabyte), false).size(), kMegabyte / 2);
}

TEST(LongTextTest, MegabytesOfInvalidBytesAreReplaced) {
  const auto tokenizer = TinyTokenizer().Load();
  const std::string text(kMegabyte, '\xFF');
  EXPECT_EQ(tokenizer->Encode(text, false).size(), 3 * kMegabyte);
  EXPECT_EQ(tokenizer->Decode(Bytes(text), false), Repeat("\uFFFD", 3 * kMegabyte));
}

TEST(LongTextTest, AMegabyteOfDigitsSplits) {
  TinyTokenizer tiny;
  tiny.Set("/pre_tokenizer", nlohmann::json::parse(R"({"type": "Sequence", "pretokenizers": [
      {"type": "Digits", "individual_digits": true},
      {"type": "ByteLevel", "add_prefix_space": true, "use_regex": true}]})"));
  const std::vector<int32_t> ids = tiny.Encode(std::string(kMegabyte, '7'));
  ASSERT_EQ(ids.size(), 2 * kMegabyte);
  EXPECT_EQ(ids[0], ' ');
  EXPECT_EQ(ids[1], '7');
}

}  // namespace
}  // namespace affine
