// The small tables that the rest stands on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/code_point.h"
#include "model/tokenizer/merge_queue.h"
#include "model/tokenizer/merge_table.h"
#include "model/tokenizer/token_index.h"
#include "model/tokenizer/token_table.h"
#include "model/tokenizer/vocabulary.h"
#include "tests/model/tokenizer/tiny_tokenizer.h"

namespace affine {
namespace {

TEST(ByteAlphabetTest, PrintableLatin1StandsForItselfAndTheRestCountsOn) {
  const ByteAlphabet alphabet;
  EXPECT_EQ(alphabet.Character('A'), uint32_t{'A'});
  EXPECT_EQ(alphabet.Character(0xE9), 0xE9u);
  EXPECT_EQ(alphabet.Character(0x00), 0x100u);
  EXPECT_EQ(alphabet.Character(' '), 0x120u);   // Ġ
  EXPECT_EQ(alphabet.Character('\n'), 0x10Au);  // Ċ
  EXPECT_EQ(alphabet.Character(0x7F), 0x121u);
  EXPECT_EQ(alphabet.Character(0xA0), 0x142u);
  EXPECT_EQ(alphabet.Character(0xAD), 0x143u);
}

TEST(ByteAlphabetTest, SpellsBytesUnlessACharacterIsOutside) {
  const ByteAlphabet alphabet;
  std::string bytes;
  EXPECT_TRUE(alphabet.ToBytes("ĠâĤ¬", &bytes));
  EXPECT_EQ(bytes, " €");
  EXPECT_TRUE(alphabet.ToBytes("", &bytes));
  EXPECT_EQ(bytes, "");
  for (const char* outside : {"a b", "\u0144", "世", "😀", "\u00AD", "\n"}) {
    EXPECT_FALSE(alphabet.ToBytes(outside, &bytes)) << outside;
  }
}

TEST(CodePointTest, ReadsForwardsAndBackwards) {
  const std::string text = "aé世😀";
  const std::vector<CodePoint> expected = {{'a', 1}, {0xE9, 2}, {0x4E16, 3}, {0x1F600, 4}};
  size_t at = 0;
  std::string again;
  for (const CodePoint& c : expected) {
    EXPECT_EQ(ReadCodePoint(text, at).value, c.value);
    at += c.length;
    EXPECT_EQ(ReadCodePointBefore(text, at).value, c.value);
    EXPECT_EQ(ReadCodePointBefore(text, at).length, c.length);
    AppendUtf8(c.value, &again);
  }
  EXPECT_EQ(again, text);
}

TEST(MergeTableTest, KnowsWhatWasSetAndNothingElse) {
  MergeTable table(1000);
  for (int32_t i = 0; i < 1000; ++i) table.Set(i, i + 1, {static_cast<uint32_t>(i), 5000 + i});
  for (int32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(table.Find(i, i + 1).id, 5000 + i);
    EXPECT_EQ(table.Find(i + 1, i).rank, MergeTable::kNoRank);
  }
  table.Set(3, 4, {9999, 7});
  EXPECT_EQ(table.Find(3, 4).rank, 9999u);
  EXPECT_EQ(MergeTable(0).Find(0, 0).rank, MergeTable::kNoRank);
}

TEST(MergeQueueTest, MergesByRankThenPosition) {
  MergeTable table(3);
  table.Set(1, 2, {1, 10});
  table.Set(2, 3, {0, 11});
  table.Set(1, 11, {2, 12});
  const auto run = [&](std::vector<int32_t> symbols) {
    std::vector<int32_t> ids = {-7};  // what stands there already stays
    MergeQueue(table, std::move(symbols)).Run(&ids);
    return ids;
  };
  EXPECT_EQ(run({1, 2, 3}), (std::vector<int32_t>{-7, 12}));
  EXPECT_EQ(run({1, 2, 1, 2, 3, 3}), (std::vector<int32_t>{-7, 10, 12, 3}));
  EXPECT_EQ(run({5}), (std::vector<int32_t>{-7, 5}));
  EXPECT_EQ(run({}), std::vector<int32_t>{-7});
}

TEST(TokenIndexTest, GrowsAndKeepsEveryTokenOnce) {
  TokenIndex index(0, 0);
  for (int32_t i = 0; i < 5000; ++i) ASSERT_TRUE(index.Insert("token" + std::to_string(i), i));
  EXPECT_FALSE(index.Insert("token17", 99));
  EXPECT_EQ(index.size(), 5000u);
  for (int32_t i = 0; i < 5000; ++i) ASSERT_EQ(index.Find("token" + std::to_string(i)), i);
  EXPECT_EQ(index.Find("token5000"), TokenIndex::kNone);
  EXPECT_EQ(index.Find(""), TokenIndex::kNone);
  EXPECT_TRUE(index.Insert("", 1));
  EXPECT_EQ(index.Find(""), 1);
}

TEST(TokenIndexTest, TellsTokensApartByTheirLastBytes) {
  TokenIndex index(200, 0);
  std::string text;
  for (int32_t length = 0; length < 40; ++length) {
    ASSERT_TRUE(index.Insert(text + std::string(1, '\0'), length));
    text += 'x';
    ASSERT_TRUE(index.Insert(text, 100 + length));
  }
  EXPECT_EQ(index.Find(std::string(9, 'x')), 108);
  EXPECT_EQ(index.Find(std::string(9, 'x') + '\0'), 9);
}

TEST(TokenTableTest, FindsIdsAmongHolesAndTakesTheLastValue) {
  TokenTable table;
  table.Set(7, "seven");
  table.Set(0, "zero");
  table.Set(1, "one");
  table.Set(7, "VII");
  table.Set(1000000, "");
  table.Freeze();
  EXPECT_EQ(table.Find(0), "zero");
  EXPECT_EQ(table.Find(1), "one");
  EXPECT_EQ(table.Find(7), "VII");
  EXPECT_EQ(table.Find(2), "");
  EXPECT_FALSE(table.Contains(2));
  EXPECT_FALSE(table.Contains(-1));
  EXPECT_TRUE(table.Contains(1000000));
  EXPECT_EQ(table.id_end(), 1000001);
  TokenTable empty;
  empty.Freeze();
  EXPECT_EQ(empty.id_end(), 0);
  EXPECT_EQ(empty.Find(0), "");
}

TEST(VocabularyTest, RefusesTokensAndIdsThatStandTwice) {
  const auto vocabulary = [](const std::string& text) {
    return Vocabulary(ParseTokenizerFile("t.json", R"({"model": {"vocab": )" + text + "}}"));
  };
  const Vocabulary holes = vocabulary(R"({"a": 5, "b": 2})");
  EXPECT_EQ(holes.Find("a"), 5);
  EXPECT_EQ(holes.Find("c"), TokenIndex::kNone);
  EXPECT_TRUE(holes.HasId(2));
  EXPECT_FALSE(holes.HasId(3));
  EXPECT_EQ(holes.size(), 2u);
  EXPECT_EQ(ErrorOf([&] { vocabulary(R"({"a": 1, "a": 2})"); }),
            "t.json: model.vocab: token \"a\" stands there twice");
  EXPECT_EQ(ErrorOf([&] { vocabulary(R"({"a": 1, "b": 1})"); }),
            "t.json: model.vocab: two tokens have the id 1");
}

}  // namespace
}  // namespace affine
