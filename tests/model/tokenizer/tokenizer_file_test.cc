#include "model/tokenizer/tokenizer_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/tokenizer/tiny_tokenizer.h"

namespace affine {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TokenizerFile Parse(std::string_view text) { return ParseTokenizerFile("t.json", text); }
std::string ParseError(std::string_view text) {
  return ErrorOf([&] { Parse(text); });
}
std::string VocabularyError(const std::string& vocabulary) {
  return ParseError(R"({"model": {"vocab": )" + vocabulary + "}}");
}
std::string MergesError(const std::string& merges) {
  return ParseError(R"({"model": {"merges": )" + merges + "}}");
}

TEST(TokenizerFileTest, KeepsVocabularyAndMergesOutOfTheDocument) {
  const TokenizerFile file = Parse(
      R"({"a": [1, {"b": null}], "model": {"x": true, "vocab": {"q": 3, "\u0120z": 0},
          "merges": ["q r", ["s t", "u"]], "y": -1.5}})");
  EXPECT_EQ(file.document,
            nlohmann::json::parse(R"({"a": [1, {"b": null}], "model": {"x": true, "y": -1.5}})"));
  ASSERT_EQ(file.vocabulary.size(), 2u);
  EXPECT_EQ(file.Read(file.vocabulary[0].token), "q");
  EXPECT_EQ(file.vocabulary[0].id, 3);
  EXPECT_EQ(file.Read(file.vocabulary[1].token), "Ġz");
  ASSERT_EQ(file.merges.size(), 2u);
  EXPECT_EQ(file.Read(file.merges[0].left), "q");
  EXPECT_EQ(file.Read(file.merges[0].right), "r");
  EXPECT_EQ(file.Read(file.merges[1].left), "s t");
  EXPECT_EQ(file.Read(file.merges[1].right), "u");
}

TEST(TokenizerFileTest, OnlyTheModelsOwnListsAreSpecial) {
  const TokenizerFile file =
      Parse(R"({"vocab": {"a": "x"}, "other": {"vocab": {"a": []}, "merges": [1]},
               "model": {"deep": {"vocab": {"a": null}, "merges": [{}]}}})");
  EXPECT_FALSE(file.has_vocabulary);
  EXPECT_FALSE(file.has_merges);
  EXPECT_EQ(file.document["other"]["merges"][0], 1);
  EXPECT_TRUE(file.document["model"]["deep"]["vocab"]["a"].is_null());
}

TEST(TokenizerFileTest, SkipsTheVersionLineOfMergesTxt) {
  const TokenizerFile file = Parse(R"({"model": {"merges": ["#version: 0.2", "a b"]}})");
  ASSERT_EQ(file.merges.size(), 1u);
}

TEST(TokenizerFileTest, BrokenJsonIsRefusedWithItsPlace) {
  for (const char* text : {"", "{", "{\"a\": }", "[1, 2", "{\"a\": 1} x", "\"abc", "{\"a\": 1e999}",
                           "{\"a\": \"\\ud800\"}", "nul", "{\"a\" 1}", "{'a': 1}"}) {
    EXPECT_THAT(ParseError(text), StartsWith("t.json: is not valid JSON at byte ")) << text;
  }
  EXPECT_THAT(ParseError("{\"a\": \"\xFF\"}"), HasSubstr("UTF-8"));
  EXPECT_THAT(ParseError(std::string(1000, '\0')), HasSubstr("not valid JSON"));
}

TEST(TokenizerFileTest, AnErrorNeverRepeatsMuchOfTheFile) {
  EXPECT_LT(ParseError("\"" + std::string(1 << 20, 'x')).size(), 400u);
  EXPECT_LT(VocabularyError("{\"" + std::string(1 << 20, 'x') + "\": -1}").size(), 400u);
}

TEST(TokenizerFileTest, DeepNestingIsRefused) {
  const std::string deep(1'000'000, '[');
  EXPECT_THAT(ParseError(deep), HasSubstr("nested deeper than 32"));
  EXPECT_THAT(ParseError("{\"model\": {\"merges\": " + deep), HasSubstr("model.merges"));
  EXPECT_THAT(ParseError("{\"model\": {\"vocab\": {\"a\": " + deep), HasSubstr("model.vocab"));
}

TEST(TokenizerFileTest, AKeyMayNotStandTwiceInOneObject) {
  EXPECT_THAT(ParseError(R"({"a": 1, "a": 2})"), HasSubstr("names the key \"a\" twice"));
  EXPECT_THAT(ParseError(R"({"model": {"vocab": {}, "vocab": {}}})"), HasSubstr("\"vocab\" twice"));
  EXPECT_THAT(ParseError(R"({"model": {"merges": [], "merges": []}})"),
              HasSubstr("\"merges\" twice"));
}

TEST(TokenizerFileTest, TokenIdsAreIntegersInRange) {
  EXPECT_EQ(Parse(R"({"model": {"vocab": {"a": 2147483646}}})").vocabulary[0].id, 2147483646);
  for (const char* id : {"-1", "2147483647", "18446744073709551615", "99999999999999999999", "1.0",
                         "\"1\"", "null", "true", "[0]", "{}"}) {
    const std::string error = VocabularyError(std::string("{\"tok\": ") + id + "}");
    EXPECT_THAT(error, HasSubstr("model.vocab: token \"tok\"")) << id;
    EXPECT_THAT(error, HasSubstr("0..2147483646")) << id;
  }
}

TEST(TokenizerFileTest, MergesAreStringsOrPairs) {
  for (const char* merge : {"1", "null", "{}", "[\"a\"]", "[]", "[\"a\", \"b\", \"c\"]", "[1, 2]",
                            "[[\"a\"], \"b\"]", "\"ab\"", "\"a b c\"", "\"\""}) {
    EXPECT_THAT(MergesError(std::string("[") + merge + "]"), HasSubstr("model.merges")) << merge;
  }
  EXPECT_THAT(MergesError(R"(["a  b"])"), HasSubstr("one space between"));
}

TEST(TokenizerFileTest, TheNumberOfValuesIsLimited) {
  std::string text = "[0";
  for (size_t i = 0; i <= TokenizerFile::kMaxValues; ++i) text += ",0";
  EXPECT_THAT(ParseError(text + "]"), HasSubstr("more than 1048576 values"));
}

TEST(TokenizerFileTest, TheNumberOfTokensAndMergesIsLimited) {
  std::string vocabulary = "{\"\":0";
  for (size_t i = 0; i < TokenizerFile::kMaxTokens; ++i) vocabulary += ",\"\":0";
  EXPECT_THAT(VocabularyError(vocabulary + "}"), HasSubstr("more than 1048576 tokens"));
  std::string merges = "[\" \"";
  for (size_t i = 0; i < TokenizerFile::kMaxMerges; ++i) merges += ",\" \"";
  EXPECT_THAT(MergesError(merges + "]"), HasSubstr("more than 2097152 merges"));
}

}  // namespace
}  // namespace affine
