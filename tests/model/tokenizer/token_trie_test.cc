#include "model/tokenizer/token_trie.h"

#include <gtest/gtest.h>

#include <string>

namespace affine {
namespace {

struct Found {
  size_t begin, end;
  int32_t id;
  bool operator==(const Found&) const = default;
};

std::vector<Found> FindAll(const TokenTrie& trie, std::string_view text) {
  std::vector<Found> all;
  TokenTrie::Match match;
  for (size_t from = 0; trie.Find(text, from, &match); from = match.end) {
    all.push_back({match.begin, match.end, match.id});
  }
  return all;
}

TEST(TokenTrieTest, TakesTheLeftmostAndThenTheLongest) {
  const TokenTrie trie({{"ab", 1}, {"abcd", 2}, {"bcdef", 3}, {"c", 4}});
  EXPECT_EQ(FindAll(trie, "abcdef"), (std::vector<Found>{{0, 4, 2}}));
  EXPECT_EQ(FindAll(trie, "abcxbcdef"), (std::vector<Found>{{0, 2, 1}, {2, 3, 4}, {4, 9, 3}}));
  EXPECT_EQ(FindAll(trie, "xyz"), std::vector<Found>{});
  EXPECT_EQ(FindAll(trie, ""), std::vector<Found>{});
}

TEST(TokenTrieTest, GoesBackToTheLongestTokenThatEnded) {
  const TokenTrie trie({{"<|", 1}, {"<|end_of_text|>", 2}});
  EXPECT_EQ(FindAll(trie, "<|end_of_tex"), (std::vector<Found>{{0, 2, 1}}));
  EXPECT_EQ(FindAll(trie, "<<|end_of_text|>"), (std::vector<Found>{{1, 16, 2}}));
}

TEST(TokenTrieTest, AnEmptyTrieFindsNothing) {
  const TokenTrie trie({});
  EXPECT_TRUE(trie.empty());
  EXPECT_EQ(FindAll(trie, "anything"), std::vector<Found>{});
}

TEST(TokenTrieTest, OfEqualTokensTheLastCounts) {
  EXPECT_EQ(FindAll(TokenTrie({{"a", 1}, {"b", 5}, {"a", 2}}), "ab"),
            (std::vector<Found>{{0, 1, 2}, {1, 2, 5}}));
}

TEST(TokenTrieTest, EveryByteMayBranch) {
  std::vector<std::string> texts;
  for (int i = 0; i < 256; ++i) {
    for (int j = 0; j < 256; j += 5) texts.push_back({static_cast<char>(i), static_cast<char>(j)});
  }
  std::vector<std::pair<std::string_view, int32_t>> tokens;
  for (size_t i = 0; i < texts.size(); ++i) tokens.emplace_back(texts[i], static_cast<int32_t>(i));
  const TokenTrie trie(tokens);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(FindAll(trie, texts[i]), (std::vector<Found>{{0, 2, static_cast<int32_t>(i)}}));
  }
}

}  // namespace
}  // namespace affine
