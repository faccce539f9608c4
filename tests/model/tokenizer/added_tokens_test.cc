#include "model/tokenizer/added_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/tokenizer/tiny_tokenizer.h"

namespace affine {
namespace {

using testing::HasSubstr;

/// The parts of `text` as "plain" or "[token]" with the text that the token took along.
std::vector<std::string> Cut(const TinyTokenizer& tiny, std::string_view text) {
  const TokenizerFile file = ParseTokenizerFile("tokenizer.json", tiny.text());
  const ConfigNode config(&file.document, file.path);
  const AddedTokens added(config.Member("added_tokens"), Normalizer(config.Member("normalizer")),
                          Vocabulary(file));
  RegexScratch scratch;
  std::vector<AddedTokens::Segment> segments;
  added.Cut(text, false, &scratch, &segments);
  std::vector<std::string> shown;
  for (const AddedTokens::Segment& segment : segments) {
    const std::string part(segment.text);
    shown.push_back(segment.id < 0 ? part : "[" + part + "]");
  }
  return shown;
}

using Parts = std::vector<std::string>;

TEST(AddedTokensTest, CutsTokensOutOfTheText) {
  TinyTokenizer tiny;
  tiny.Added("<a>").Added("<ab>").Added("<a><ab>");
  EXPECT_EQ(Cut(tiny, "x<a>y<ab>"), (Parts{"x", "[<a>]", "y", "[<ab>]"}));
  EXPECT_EQ(Cut(tiny, "<a><a><ab>"), (Parts{"[<a>]", "[<a><ab>]"}));  // the longest
  EXPECT_EQ(Cut(tiny, "<a"), Parts{"<a"});
  EXPECT_EQ(Cut(tiny, ""), Parts{});
  EXPECT_EQ(Cut(TinyTokenizer(), "<a>"), Parts{"<a>"});
}

TEST(AddedTokensTest, StripTakesWhiteSpaceOfAnyKindAlong) {
  TinyTokenizer tiny;
  tiny.Added("<l>", {"lstrip"}).Added("<r>", {"rstrip"}).Added("<b>", {"lstrip", "rstrip"});
  EXPECT_EQ(Cut(tiny, "a \u3000\t<l> b"), (Parts{"a", "[ \u3000\t<l>]", " b"}));
  EXPECT_EQ(Cut(tiny, "a <r> \u00A0\nb"), (Parts{"a ", "[<r> \u00A0\n]", "b"}));
  EXPECT_EQ(Cut(tiny, " <b> "), Parts{"[ <b> ]"});
  EXPECT_EQ(Cut(tiny, "<l>\u180E<r>\u180E"), (Parts{"[<l>]", "\u180E", "[<r>]", "\u180E"}));
}

TEST(AddedTokensTest, WhiteSpaceGoesToTheFirstThatTakesIt) {
  TinyTokenizer tiny;
  tiny.Added("<l>", {"lstrip"}).Added("<r>", {"rstrip"});
  EXPECT_EQ(Cut(tiny, "<r>  <l>"), (Parts{"[<r>  ]", "[<l>]"}));
  EXPECT_EQ(Cut(tiny, "<l>  <l>"), (Parts{"[<l>]", "[  <l>]"}));
}

TEST(AddedTokensTest, ATokenWithinStrippedSpaceStillCounts) {
  TinyTokenizer tiny;
  tiny.Added("<r>", {"rstrip"}).Added("\t");
  const std::vector<int32_t> ids = tiny.Encode("<r> \tx");
  EXPECT_EQ(ids, (std::vector<int32_t>{256, 257, 'x'}));
}

TEST(AddedTokensTest, ASingleWordTouchesNoWord) {
  TinyTokenizer tiny;
  tiny.Added("cat", {"single_word"});
  EXPECT_EQ(Cut(tiny, "cat, a cat!"), (Parts{"[cat]", ", a ", "[cat]", "!"}));
  for (const char* text :
       {"cats", "concat", "_cat", "cat9", "catß", "cat\u0301", "世cat", "cat\u200D", "Ⓐcat"}) {
    EXPECT_EQ(Cut(tiny, text), Parts{text}) << text;
  }
  for (const char* text : {"-cat-", "²cat½", "🐈cat", "\u00A0cat"}) {
    EXPECT_EQ(Cut(tiny, text).size(),
              std::string_view(text).starts_with('-') ? 3u : Cut(tiny, text).size());
    EXPECT_THAT(Cut(tiny, text), testing::Contains("[cat]")) << text;
  }
}

TEST(AddedTokensTest, ASingleWordThatTouchesHidesShorterTokensWithinIt) {
  TinyTokenizer tiny;
  tiny.Added("cat", {"single_word"}).Added("at");
  EXPECT_EQ(Cut(tiny, "cats at"), (Parts{"cats ", "[at]"}));  // the search goes on behind "cat"
}

TEST(AddedTokensTest, AVocabularyTokenKeepsItsId) {
  TinyTokenizer tiny;
  tiny.Token("<s>").Added("<s>", {"special"}).Added("<new>");
  EXPECT_EQ(tiny.Encode("<s><new>"), (std::vector<int32_t>{256, 257}));
}

TEST(AddedTokensTest, LaterEntriesReplaceEarlierOnes) {
  TinyTokenizer tiny;
  tiny.Added("<s>", {"special"});
  tiny.document()["added_tokens"].push_back(tiny.document()["added_tokens"][0]);
  tiny.document()["added_tokens"][1]["lstrip"] = true;
  tiny.document()["added_tokens"][1]["special"] = false;
  EXPECT_EQ(Cut(tiny, "a <s>"), (Parts{"a", "[ <s>]"}));
  EXPECT_TRUE(tiny.Load()->IsSpecial(256));  // once special, always special
}

TEST(AddedTokensTest, EmptyContentIsPassedOver) {
  TinyTokenizer tiny;
  tiny.Added("<s>");
  tiny.document()["added_tokens"].push_back(tiny.document()["added_tokens"][0]);
  tiny.document()["added_tokens"][1]["content"] = "";
  EXPECT_EQ(tiny.Load()->vocab_size(), 257);
}

TEST(AddedTokensTest, AnIdThatHuggingFaceWouldNotGiveIsRefused) {
  TinyTokenizer shifted;
  shifted.Added("<s>").Set("/added_tokens/0/id", 300);
  EXPECT_THAT(shifted.LoadError(), HasSubstr("added_tokens[0].id: token \"<s>\" has id 300"));
  EXPECT_THAT(shifted.LoadError(), HasSubstr("would give it 256"));
  TinyTokenizer renamed;
  renamed.Token("<s>").Added("<s>").Set("/added_tokens/0/id", 5);
  EXPECT_THAT(renamed.LoadError(), HasSubstr("would give it 256"));
  TinyTokenizer taken;  // 257 tokens with a hole at 256, so the next id is in use
  taken.Set("/model/vocab/far", 257).Added("<s>").Set("/added_tokens/0/id", 257);
  EXPECT_THAT(taken.LoadError(), HasSubstr("which model.vocab gives to another"));
}

TEST(AddedTokensTest, EveryFieldIsRequiredAndTyped) {
  for (const char* field :
       {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}) {
    TinyTokenizer tiny;
    tiny.Added("<s>");
    tiny.document()["added_tokens"][0].erase(field);
    EXPECT_THAT(tiny.LoadError(), HasSubstr("added_tokens[0]." + std::string(field)));
    tiny.document()["added_tokens"][0][field] = nlohmann::json::array();
    EXPECT_THAT(tiny.LoadError(), HasSubstr("added_tokens[0]." + std::string(field)));
  }
  TinyTokenizer tiny;
  tiny.Set("/added_tokens", {1});
  EXPECT_THAT(tiny.LoadError(), HasSubstr("added_tokens[0]: must be an object, is number"));
}

TEST(AddedTokensTest, IdsAndSizesAreLimited) {
  for (const nlohmann::json& id :
       std::vector<nlohmann::json>{-1, 2147483647, 18446744073709551615ull, 1.5}) {
    TinyTokenizer tiny;
    tiny.Added("<s>").Set("/added_tokens/0/id", id);
    EXPECT_THAT(tiny.LoadError(), HasSubstr("added_tokens[0].id"));
  }
  TinyTokenizer longest;
  longest.Added(std::string(1025, 'x'));
  EXPECT_THAT(longest.LoadError(), HasSubstr("content: has 1025 bytes, allowed are 1024"));
  TinyTokenizer most;
  most.Set("/added_tokens", std::vector<int>(65537, 0));
  EXPECT_THAT(most.LoadError(), HasSubstr("has 65537 tokens, allowed are 65536"));
}

}  // namespace
}  // namespace affine
