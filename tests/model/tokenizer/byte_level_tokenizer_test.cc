#include "model/tokenizer/byte_level_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/model/tokenizer/tiny_tokenizer.h"

namespace affine {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

nlohmann::json BeginWith(const std::string& token, int32_t id) {
  return {{"type", "TemplateProcessing"},
          {"single",
           {{{"SpecialToken", {{"id", token}, {"type_id", 0}}}},
            {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
          {"pair", nlohmann::json::array()},
          {"special_tokens", {{token, {{"id", token}, {"ids", {id}}, {"tokens", {token}}}}}}};
}

TEST(ByteLevelTokenizerTest, EveryByteComesBack) {
  const auto tokenizer = TinyTokenizer().Load();
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(tokenizer->TokenBytes(byte), std::string(1, static_cast<char>(byte)));
  }
  const std::string text = "Grüße, 世界 🌍\n\t\0 end";
  EXPECT_EQ(tokenizer->Encode(text, false), Bytes(text));
  EXPECT_EQ(tokenizer->Decode(Bytes(text), false), text);
}

TEST(ByteLevelTokenizerTest, AnEmptyTextHasNoTokens) {
  EXPECT_THAT(TinyTokenizer().Encode(""), IsEmpty());
  EXPECT_EQ(TinyTokenizer().Load()->Decode({}, false), "");
}

TEST(ByteLevelTokenizerTest, InvalidUtf8ReadsAsReplacementCharacters) {
  const auto tokenizer = TinyTokenizer().Load();
  EXPECT_EQ(tokenizer->Encode("a\xE2\x82z\xFF", false), Bytes("a\uFFFDz\uFFFD"));
}

TEST(ByteLevelTokenizerTest, DecodingReplacesWhatIsNoUtf8) {
  const auto tokenizer = TinyTokenizer().Load();
  EXPECT_EQ(tokenizer->Decode(std::vector<int32_t>{0xE2, 0x82, 'x', 0xE2, 0x82, 0xAC}, false),
            "\uFFFDx€");
}

TEST(ByteLevelTokenizerTest, IdsWithoutATokenAreEmpty) {
  const auto tokenizer = TinyTokenizer().Set("/model/vocab/hole", 1000000).Load();
  EXPECT_EQ(tokenizer->vocab_size(), 1000001);
  EXPECT_EQ(tokenizer->TokenBytes(1000000), "hole");
  for (const int32_t id : {-1, INT32_MIN, 256, 999999, 1000001, INT32_MAX}) {
    EXPECT_EQ(tokenizer->TokenBytes(id), "");
    EXPECT_FALSE(tokenizer->IsSpecial(id));
  }
  EXPECT_EQ(tokenizer->Decode(std::vector<int32_t>{'a', -5, 300, INT32_MAX, 'b'}, false), "ab");
}

TEST(ByteLevelTokenizerTest, TheLargestIdNeedsNoMemory) {
  const auto tokenizer = TinyTokenizer().Set("/model/vocab/far", 2147483646).Load();
  EXPECT_EQ(tokenizer->vocab_size(), INT32_MAX);
  EXPECT_EQ(tokenizer->TokenBytes(2147483646), "far");
}

TEST(ByteLevelTokenizerTest, TokensOutsideTheAlphabetStandForTheirUtf8) {
  const auto tokenizer =
      TinyTokenizer().Token("a b").Token("世").Token("Ġé").Added("<a b>").Added("é").Load();
  EXPECT_EQ(tokenizer->TokenBytes(256), "a b");  // a plain space is outside
  EXPECT_EQ(tokenizer->TokenBytes(257), "世");
  EXPECT_EQ(tokenizer->TokenBytes(258), " \xE9");  // both inside: é is the byte E9
  EXPECT_EQ(tokenizer->TokenBytes(259), "<a b>");
  EXPECT_EQ(tokenizer->Decode(std::vector<int32_t>{257}, false), "世");
}

TEST(ByteLevelTokenizerTest, SpecialTokensAreAddedAndSkippedOnDemand) {
  TinyTokenizer tiny;
  tiny.Added("<s>", {"special"}).Added("<tool>").Set("/post_processor", BeginWith("<s>", 256));
  const auto tokenizer = tiny.Load();
  EXPECT_EQ(tokenizer->Encode("hi", true), Ids({{256}, Bytes("hi")}));
  EXPECT_EQ(tokenizer->Encode("hi", false), Bytes("hi"));
  EXPECT_EQ(tokenizer->Encode("", true), std::vector<int32_t>{256});
  const std::vector<int32_t> ids = tokenizer->Encode("a<s><tool>b", false);
  EXPECT_EQ(ids, (std::vector<int32_t>{'a', 256, 257, 'b'}));
  EXPECT_EQ(tokenizer->Decode(ids, false), "a<s><tool>b");
  EXPECT_EQ(tokenizer->Decode(ids, true), "a<tool>b");
  EXPECT_TRUE(tokenizer->IsSpecial(256));
  EXPECT_FALSE(tokenizer->IsSpecial(257));
  EXPECT_FALSE(tokenizer->IsSpecial('a'));
}

TEST(ByteLevelTokenizerTest, NormalizesBetweenAddedTokensNotWithinThem) {
  TinyTokenizer tiny;
  tiny.Set("/normalizer", {{"type", "NFC"}}).Added("e\u0301").Added("\u212B", {"normalized"});
  // The verbatim token is found before composing; a mark behind it starts a segment of its own.
  EXPECT_EQ(tiny.Encode("xe\u0301\u0301"), Ids({{'x', 256}, Bytes("\u0301")}));
  // é is not the token's spelling.
  EXPECT_EQ(tiny.Encode("\u00E9"), Bytes("\u00E9"));
  // The normalized token is Å (U+00C5), whatever way the text writes it.
  EXPECT_EQ(tiny.Encode("\u212B\u00C5A\u030A"), (std::vector<int32_t>{257, 257, 257}));
}

TEST(ByteLevelTokenizerTest, WordsNeverReachAcrossAnAddedToken) {
  TinyTokenizer tiny;
  tiny.Merge("a", "b").Added("<x>");
  EXPECT_EQ(tiny.Encode("ab"), std::vector<int32_t>{256});
  EXPECT_EQ(tiny.Encode("a<x>b"), (std::vector<int32_t>{'a', 257, 'b'}));
}

TEST(ByteLevelTokenizerTest, UnsupportedPartsAreRefusedByName) {
  const auto error = [](const std::string& pointer, nlohmann::json value) {
    return TinyTokenizer().Set(pointer, std::move(value)).LoadError();
  };
  EXPECT_THAT(error("/decoder/type", "Metaspace"), HasSubstr("decoder: decoder \"Metaspace\""));
  EXPECT_THAT(error("/decoder", nullptr), HasSubstr("decoder"));
  EXPECT_THAT(error("/version", "2.0"), HasSubstr("version \"2.0\""));
  EXPECT_THAT(error("/version", 1), HasSubstr("version: must be a string, is number"));
  EXPECT_THAT(error("/normalizer", {{"type", "NFKC"}}), HasSubstr("normalizer \"NFKC\""));
  EXPECT_THAT(error("/pre_tokenizer/type", "Metaspace"), HasSubstr("\"Metaspace\""));
  EXPECT_THAT(error("/post_processor", {{"type", "BertProcessing"}}),
              HasSubstr("\"BertProcessing\""));
  EXPECT_THAT(error("/model", 5), HasSubstr("model: must be an object, is number"));
  EXPECT_THAT(error("/added_tokens", "x"), HasSubstr("added_tokens: must be an array"));
}

TEST(ByteLevelTokenizerTest, ATemplateMayOnlyUseKnownIds) {
  TinyTokenizer tiny;
  tiny.Set("/post_processor", BeginWith("<s>", 999));
  EXPECT_THAT(tiny.LoadError(), HasSubstr("post_processor: no token has the id 999"));
}

TEST(ByteLevelTokenizerTest, AnyTopLevelButAnObjectIsRefused) {
  for (const char* text : {"[]", "1", "null", "\"x\""}) {
    EXPECT_THAT(ErrorOf([&] { ByteLevelTokenizer(ParseTokenizerFile("t.json", text)); }),
                HasSubstr("t.json: top level: must be an object"));
  }
  EXPECT_THAT(ErrorOf([&] { ByteLevelTokenizer(ParseTokenizerFile("t.json", "{}")); }),
              HasSubstr("decoder"));
}

TEST(ByteLevelTokenizerTest, SeveralThreadsEncodeAlike) {
  TinyTokenizer tiny;
  tiny.Merge("a", "b").Merge("Ġ", "ab").Set("/normalizer", {{"type", "NFC"}}).Added("<x>");
  const auto tokenizer = tiny.Load();
  std::string text;
  for (int i = 0; i < 200; ++i) text += " ab<x>e\u0301 ab12\n";
  const std::vector<int32_t> expected = tokenizer->Encode(text, true);
  std::vector<std::thread> threads;
  std::vector<int> equal(4, 0);
  for (size_t t = 0; t < equal.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        equal[t] += tokenizer->Encode(text, true) == expected &&
                    tokenizer->Decode(expected, false).size() == text.size() - 200;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(equal, testing::Each(20));
}

}  // namespace
}  // namespace affine
