#include "model/tokenizer/bpe_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/model/tokenizer/tiny_tokenizer.h"

namespace affine {
namespace {

using testing::HasSubstr;
using Ids32 = std::vector<int32_t>;

/// Without a pre-tokenizer pattern, so that a whole text is one word.
TinyTokenizer OneWord() { return TinyTokenizer().Set("/pre_tokenizer/use_regex", false); }

TEST(BpeModelTest, MergesInTheOrderOfTheListThenFromTheLeft) {
  TinyTokenizer tiny = OneWord();
  tiny.Merge("b", "c").Merge("a", "b").Merge("a", "bc");  // 256, 257, 258
  EXPECT_EQ(tiny.Encode("abc"), Ids32{258});
  EXPECT_EQ(tiny.Encode("abab"), (Ids32{257, 257}));
  EXPECT_EQ(OneWord().Merge("a", "a").Encode("aaaaa"), (Ids32{256, 256, 'a'}));
}

TEST(BpeModelTest, BothSpellingsOfMergesAreRead) {
  TinyTokenizer tiny = OneWord();
  tiny.Merge("Ġ", "a");
  tiny.document()["model"]["merges"][0] = {"Ġ", "a"};
  EXPECT_EQ(tiny.Encode(" a"), Ids32{256});
}

TEST(BpeModelTest, AMergeThatStandsTwiceTakesItsLastPlace) {
  TinyTokenizer tiny = OneWord();
  tiny.Merge("a", "b").Merge("b", "c").Merge("a", "b");
  EXPECT_EQ(tiny.Encode("abc"), (Ids32{'a', 257}));
}

TEST(BpeModelTest, AWholeWordIsTakenOnlyIfMergingGivesIt) {
  TinyTokenizer tiny = OneWord();
  tiny.Token("abc").Merge("b", "c");
  EXPECT_EQ(tiny.Encode("abc"), (Ids32{'a', 257}));
  tiny.Set("/model/ignore_merges", true);
  EXPECT_EQ(tiny.Encode("abc"), Ids32{256});
  EXPECT_EQ(tiny.Encode("xabc"), (Ids32{'x', 'a', 257}));
}

TEST(BpeModelTest, BytesWithoutATokenBecomeTheUnknownOneOrVanish) {
  TinyTokenizer tiny = OneWord();
  tiny.document()["model"]["vocab"].erase("x");
  tiny.document()["model"]["vocab"].erase("y");
  tiny.Token("<unk>");
  EXPECT_EQ(tiny.Encode("axyb"), (Ids32{'a', 'b'}));
  tiny.Set("/model/unk_token", "<unk>");
  EXPECT_EQ(tiny.Encode("axyb"), (Ids32{'a', 256, 256, 'b'}));
  tiny.Set("/model/fuse_unk", true);
  EXPECT_EQ(tiny.Encode("axybx"), (Ids32{'a', 256, 'b', 256}));
  EXPECT_EQ(tiny.Encode(std::string(100, 'x')), Ids32{256});
}

TEST(BpeModelTest, AWordOfNothingButVanishingBytesHasNoTokens) {
  TinyTokenizer tiny = OneWord();
  tiny.document()["model"]["vocab"].erase("x");
  EXPECT_EQ(tiny.Encode("x"), Ids32{});
  EXPECT_EQ(tiny.Encode(std::string(1000, 'x')), Ids32{});
}

TEST(BpeModelTest, LongWordsMergeLikeShortOnes) {
  TinyTokenizer tiny = OneWord();
  const std::string letters = "abc";
  std::vector<std::string> tokens = {"a", "b", "c"};
  std::mt19937 random(3);
  while (tokens.size() < 60) {
    const std::string left = tokens[random() % tokens.size()];
    const std::string right = tokens[random() % tokens.size()];
    if (left.size() + right.size() > 12) continue;
    tiny.Merge(left, right);
    tokens.push_back(left + right);
  }
  const auto tokenizer = tiny.Load();
  for (int i = 0; i < 300; ++i) {
    // A separator that merges with nothing keeps the halves apart: 40 bytes and 40 bytes are each
    // short alone and long together.
    std::string left, right;
    for (int j = 0; j < 40; ++j) left += letters[random() % 3];
    for (int j = 0; j < 40; ++j) right += letters[random() % 3];
    ASSERT_EQ(tokenizer->Encode(left + "|" + right, false),
              Ids({tokenizer->Encode(left, false), {'|'}, tokenizer->Encode(right, false)}));
  }
}

TEST(BpeModelTest, OtherModelsAndOptionsAreRefusedByName) {
  const auto error = [](const std::string& key, nlohmann::json value) {
    return TinyTokenizer().Set("/model/" + key, std::move(value)).LoadError();
  };
  for (const char* type : {"Unigram", "WordPiece", "WordLevel"}) {
    EXPECT_THAT(error("type", type), HasSubstr("model \"" + std::string(type) + "\" is not"));
  }
  EXPECT_THAT(error("byte_fallback", true),
              HasSubstr("model.byte_fallback: true is not supported"));
  EXPECT_THAT(error("continuing_subword_prefix", "##"),
              HasSubstr("model.continuing_subword_prefix"));
  EXPECT_THAT(error("end_of_word_suffix", "</w>"), HasSubstr("is \"</w>\"; only null"));
  EXPECT_THAT(error("dropout", 0.1), HasSubstr("model.dropout: 0.1 is not supported"));
  EXPECT_THAT(error("dropout", "x"), HasSubstr("model.dropout"));
  EXPECT_THAT(error("unk_token", "<absent>"), HasSubstr("\"<absent>\" is not in model.vocab"));
  EXPECT_THAT(error("ignore_merges", 1),
              HasSubstr("ignore_merges: must be true or false, is number"));
  EXPECT_THAT(error("fuse_unk", "no"), HasSubstr("model.fuse_unk"));
  EXPECT_THAT(error("vocab", nlohmann::json::array()), HasSubstr("model.vocab: must be an object"));
  EXPECT_THAT(error("vocab", nullptr), HasSubstr("model.vocab: must be an object"));
  EXPECT_THAT(error("merges", 5), HasSubstr("model.merges: must be an array"));
  EXPECT_THAT(error("merges", nlohmann::json::object()), HasSubstr("model.merges"));
}

TEST(BpeModelTest, HarmlessOptionsAreAccepted) {
  TinyTokenizer tiny;
  tiny.Set("/model/dropout", 0.0).Set("/model/end_of_word_suffix", "");
  tiny.document()["model"].erase("type");  // as in GPT-2's file
  tiny.document()["model"].erase("fuse_unk");
  EXPECT_EQ(tiny.Encode("a"), Ids32{'a'});
}

TEST(BpeModelTest, MergesOfUnknownTokensAreRefused) {
  TinyTokenizer tiny;
  tiny.Merge("a", "b");
  tiny.document()["model"]["vocab"].erase("ab");
  EXPECT_THAT(tiny.LoadError(), HasSubstr("model.merges[0]: token \"ab\" is not in model.vocab"));
  EXPECT_THAT(TinyTokenizer().Set("/model/merges", {"zz a"}).LoadError(), HasSubstr("\"zz\""));
  EXPECT_THAT(TinyTokenizer().Set("/model/merges", {"a zz"}).LoadError(), HasSubstr("\"zz\""));
}

TEST(BpeModelTest, TwoTokensMayNotShareAnId) {
  EXPECT_THAT(TinyTokenizer().Set("/model/vocab/zz", 'a').LoadError(),
              HasSubstr("model.vocab: two tokens have the id 97"));
}

}  // namespace
}  // namespace affine
