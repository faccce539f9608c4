#include "server/scheduler/ngram_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace affine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int32_t> GuessOf(NgramIndex& index, const std::vector<int32_t>& tokens, int32_t count) {
  std::vector<int32_t> guesses;
  const int32_t match = index.Guess(tokens, count, guesses);
  EXPECT_EQ(match == 0, guesses.empty());
  return guesses;
}

std::vector<int32_t> GuessOf(const std::vector<int32_t>& tokens, int32_t count) {
  NgramIndex index(3, 2);
  return GuessOf(index, tokens, count);
}

// The same by looking at every position, from the last.
std::vector<int32_t> SlowGuess(const std::vector<int32_t>& tokens, int32_t count, int longest,
                               int shortest) {
  const auto size = static_cast<int>(tokens.size());
  for (int n = longest; n >= shortest; --n) {
    for (int end = size - 1; end >= n; --end) {
      if (!std::equal(tokens.end() - n, tokens.end(), tokens.begin() + end - n)) continue;
      std::vector<int32_t> all = tokens;
      for (int i = 0; i < count; ++i) all.push_back(all[end + i]);
      return {all.begin() + size, all.end()};
    }
  }
  return {};
}

TEST(NgramIndexTest, GuessesWhatFollowedTheLastTokensBefore) {
  EXPECT_THAT(GuessOf({1, 2, 3, 4, 5, 6, 1, 2, 3}, 3), ElementsAre(4, 5, 6));
}

TEST(NgramIndexTest, GuessesNothingAfterNewTokens) {
  EXPECT_THAT(GuessOf({1, 2, 3, 4, 5, 6}, 3), IsEmpty());
  EXPECT_THAT(GuessOf({1, 2, 3, 4, 9, 2}, 3), IsEmpty());  // one token alone is too few
  EXPECT_THAT(GuessOf({1}, 3), IsEmpty());
}

TEST(NgramIndexTest, PrefersTheLongestMatchAndThenTheLatest) {
  EXPECT_THAT(GuessOf({1, 2, 3, 7, 9, 2, 3, 8, 1, 2, 3}, 1), ElementsAre(7));
  EXPECT_THAT(GuessOf({2, 3, 7, 9, 2, 3, 8, 1, 2, 3}, 1), ElementsAre(8));
  std::vector<int32_t> guesses;
  EXPECT_EQ(NgramIndex(3, 2).Guess(std::vector<int32_t>{1, 2, 3, 7, 1, 2, 3}, 1, guesses), 3);
  EXPECT_EQ(NgramIndex(3, 2).Guess(std::vector<int32_t>{1, 2, 3, 7, 9, 2, 3}, 1, guesses), 2);
}

TEST(NgramIndexTest, GoesOnThroughALoopThatIsShorterThanTheGuess) {
  EXPECT_THAT(GuessOf({9, 4, 5, 4, 5}, 5), ElementsAre(4, 5, 4, 5, 4));
  EXPECT_THAT(GuessOf({7, 7, 7}, 4), ElementsAre(7, 7, 7, 7));
}

TEST(NgramIndexTest, SaysTheSameWhetherAskedAtEveryTokenOrOnce) {
  std::mt19937 random(1);
  std::vector<int32_t> tokens;
  NgramIndex often(4, 1);
  for (int i = 0; i < 3000; ++i) {
    tokens.push_back(static_cast<int32_t>(random() % 12));
    const std::vector<int32_t> guess = GuessOf(often, tokens, 5);
    if (i % 100 != 0) continue;
    NgramIndex once(4, 1);
    EXPECT_EQ(guess, GuessOf(once, tokens, 5)) << i;
  }
}

TEST(NgramIndexTest, FindsWhatASearchOfAllPositionsFinds) {
  std::mt19937 random(2);
  for (const uint32_t vocabulary : {2u, 9u, 40u, 1000u}) {
    std::vector<int32_t> tokens;
    NgramIndex index(3, 2);
    size_t found = 0;
    for (int i = 0; i < 2000; ++i) {
      // Half of the time tokens are copied from before, as texts do.
      const size_t from = tokens.size() > 50 && i / 20 % 2 == 0 ? tokens.size() - 50 : 0;
      tokens.push_back(from > 0 ? tokens[from] : static_cast<int32_t>(random() % vocabulary));
      const std::vector<int32_t> guess = GuessOf(index, tokens, 4);
      ASSERT_EQ(guess, SlowGuess(tokens, 4, 3, 2)) << vocabulary << ", " << i;
      found += guess.empty() ? 0 : 1;
    }
    EXPECT_GT(found, 400u) << vocabulary;
  }
}

TEST(NgramIndexTest, OfASequenceBeyondItsSizeItKnowsTheLatestPart) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 300'000; ++i) tokens.push_back(i);
  NgramIndex index(3, 2);
  for (int32_t i = 299'000; i < 299'010; ++i) tokens.push_back(i);
  EXPECT_THAT(GuessOf(index, tokens, 3), ElementsAre(299'010, 299'011, 299'012));
  // A hit on the oldest part, if there is one, is a true one.
  for (int32_t i = 10; i < 13; ++i) tokens.push_back(i);
  const std::vector<int32_t> old = GuessOf(index, tokens, 1);
  EXPECT_TRUE(old.empty() || old[0] == 13);
}

}  // namespace
}  // namespace affine
