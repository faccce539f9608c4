#include "server/scheduler/prefix_index.h"

#include <gtest/gtest.h>

#include <vector>

#include "server/scheduler/prefix_hasher.h"

namespace affine {
namespace {

class PrefixIndexTest : public testing::Test {
 protected:
  BlockKey Key(Hash128 hash, int32_t parent, const std::vector<int32_t>& tokens,
               std::string_view salt = "") {
    return {.hash = hash, .parent = parent, .tokens = tokens, .cache_salt = salt};
  }
  const std::vector<int32_t> a_ = {1, 2};
  const std::vector<int32_t> b_ = {1, 3};
  PrefixIndex index_{8, 2};
};

TEST_F(PrefixIndexTest, FindsWhatWasEntered) {
  EXPECT_EQ(index_.Find(Key({1, 1}, kNoBlock, a_)), std::nullopt);
  EXPECT_EQ(index_.Enter(5, Key({1, 1}, kNoBlock, a_)), 5);
  EXPECT_EQ(index_.Find(Key({1, 1}, kNoBlock, a_)), 5);
  EXPECT_TRUE(index_.Contains(5));
  EXPECT_EQ(index_.size(), 1);
}

TEST_F(PrefixIndexTest, AnEqualHashWithOtherTokensParentOrSaltIsNoHit) {
  index_.Enter(5, Key({1, 1}, kNoBlock, a_, "x"));
  EXPECT_EQ(index_.Find(Key({1, 1}, kNoBlock, b_, "x")), std::nullopt);
  EXPECT_EQ(index_.Find(Key({1, 1}, kNoBlock, a_, "y")), std::nullopt);
  EXPECT_EQ(index_.Find(Key({1, 1}, 3, a_, "x")), std::nullopt);
  EXPECT_EQ(index_.Find(Key({1, 1}, kNoBlock, a_, "x")), 5);
}

TEST_F(PrefixIndexTest, LaterBlocksAreToldApartByTheirParentAlone) {
  index_.Enter(5, Key({1, 1}, kNoBlock, a_, "x"));
  index_.Enter(6, Key({2, 2}, 5, b_, "x"));
  EXPECT_EQ(index_.parent(6), 5);
  EXPECT_EQ(index_.Find(Key({2, 2}, 5, b_)), 6);
}

TEST_F(PrefixIndexTest, TheFirstOfEqualBlocksStays) {
  index_.Enter(5, Key({1, 1}, kNoBlock, a_));
  EXPECT_EQ(index_.Enter(6, Key({1, 1}, kNoBlock, a_)), 5);
  EXPECT_FALSE(index_.Contains(6));
}

TEST_F(PrefixIndexTest, ATakenHashRefusesOtherContents) {
  index_.Enter(5, Key({1, 1}, kNoBlock, a_));
  EXPECT_EQ(index_.Enter(6, Key({1, 1}, kNoBlock, b_)), std::nullopt);
  EXPECT_EQ(index_.Find(Key({1, 1}, kNoBlock, a_)), 5);
}

TEST_F(PrefixIndexTest, ForgetsWhatWasErased) {
  index_.Enter(5, Key({1, 1}, kNoBlock, a_));
  index_.Erase(5);
  EXPECT_EQ(index_.Find(Key({1, 1}, kNoBlock, a_)), std::nullopt);
  EXPECT_EQ(index_.Enter(5, Key({1, 1}, kNoBlock, b_)), 5);
}

TEST(PrefixHasherTest, DependsOnKeySaltParentAndEachToken) {
  const PrefixHasher hasher({1, 2});
  const std::vector<int32_t> tokens = {7, 8, 9};
  const Hash128 hash = hasher.Child(hasher.Root("s"), tokens);
  EXPECT_EQ(hash, hasher.Child(hasher.Root("s"), tokens));
  EXPECT_NE(hash, hasher.Child(hasher.Root("t"), tokens));
  EXPECT_NE(hash, PrefixHasher({1, 3}).Child(hasher.Root("s"), tokens));
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::vector<int32_t> other = tokens;
    ++other[i];
    EXPECT_NE(hash, hasher.Child(hasher.Root("s"), other)) << "token " << i;
  }
}

}  // namespace
}  // namespace affine
