#include "server/scheduler/block_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace affine {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

// All blocks of all sequences hash alike.
class CollidingHasher final : public PrefixHasher {
 public:
  CollidingHasher() : PrefixHasher({}) {}
  Hash128 Child(const Hash128&, std::span<const int32_t>) const override { return {1, 1}; }
};

Sequence MakeSequence(std::vector<int32_t> tokens, std::string salt = "") {
  Sequence sequence;
  sequence.prompt_length = sequence.max_length = static_cast<int32_t>(tokens.size());
  sequence.tokens = std::move(tokens);
  sequence.cache_salt = std::move(salt);
  return sequence;
}

std::vector<int32_t> Count(int32_t first, int32_t n) {
  std::vector<int32_t> tokens(n);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

class BlockTablesTest : public testing::Test {
 protected:
  void Compute(BlockTables& tables, Sequence& sequence) {
    const int32_t count = sequence.num_uncomputed();
    ASSERT_EQ(tables.Grow(sequence, count), count);
    tables.MarkComputed(sequence, count);
  }
  const PrefixHasher hasher_{{1, 2}};
  BlockPool pool_{16, 4};
  BlockTables tables_{pool_, hasher_, true};
};

TEST_F(BlockTablesTest, GrowsByWholeBlocksAndOnlyWhenNeeded) {
  Sequence sequence = MakeSequence(Count(0, 10));
  EXPECT_EQ(tables_.NumMissing(sequence), 3);
  EXPECT_EQ(tables_.Grow(sequence, 3), 3);
  EXPECT_EQ(sequence.blocks.size(), 1u);
  tables_.MarkComputed(sequence, 3);
  EXPECT_EQ(tables_.Grow(sequence, 1), 1);
  EXPECT_EQ(sequence.blocks.size(), 1u);
  tables_.MarkComputed(sequence, 1);
  EXPECT_EQ(tables_.Grow(sequence, 6), 6);
  EXPECT_EQ(sequence.blocks.size(), 3u);
  EXPECT_EQ(tables_.NumMissing(sequence), 0);
}

TEST_F(BlockTablesTest, GrantsWhatThePoolHasLeft) {
  std::vector<int32_t> taken;
  for (int i = 0; i < 14; ++i) taken.push_back(pool_.Allocate().value());
  Sequence sequence = MakeSequence(Count(0, 40));
  EXPECT_EQ(tables_.Grow(sequence, 40), 8);
  tables_.MarkComputed(sequence, 8);
  EXPECT_EQ(tables_.Grow(sequence, 32), 0);
}

TEST_F(BlockTablesTest, FindsAComputedPrefixUpToTheLastWholeBlock) {
  Sequence first = MakeSequence(Count(0, 11));
  Compute(tables_, first);
  Sequence same_start = MakeSequence({0, 1, 2, 3, 4, 5, 6, 7, 90, 91});
  EXPECT_THAT(tables_.FindPrefix(same_start), ElementsAre(first.blocks[0], first.blocks[1]));
  Sequence other_start = MakeSequence({9, 1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(tables_.FindPrefix(other_start), IsEmpty());
}

TEST_F(BlockTablesTest, NeverFindsASequencesLastToken) {
  Sequence first = MakeSequence(Count(0, 8));
  Compute(tables_, first);
  Sequence again = MakeSequence(Count(0, 8));
  EXPECT_THAT(tables_.FindPrefix(again), ElementsAre(first.blocks[0]));
  Sequence longer = MakeSequence(Count(0, 9));
  EXPECT_THAT(tables_.FindPrefix(longer), ElementsAreArray(first.blocks));
}

TEST_F(BlockTablesTest, PrefixesAreSharedUnderTheSameSaltOnly) {
  Sequence first = MakeSequence(Count(0, 9), "alice");
  Compute(tables_, first);
  Sequence other = MakeSequence(Count(0, 9), "bob");
  EXPECT_THAT(tables_.FindPrefix(other), IsEmpty());
  Sequence same = MakeSequence(Count(0, 9), "alice");
  EXPECT_EQ(tables_.FindPrefix(same).size(), 2u);
}

TEST_F(BlockTablesTest, ASequenceThatScoresItsPromptLooksNothingUp) {
  Sequence first = MakeSequence(Count(0, 9));
  Compute(tables_, first);
  Sequence scored = MakeSequence(Count(0, 9));
  scored.lookup_prefix = false;
  EXPECT_FALSE(tables_.LooksUp(scored));
  EXPECT_THAT(tables_.FindPrefix(scored), IsEmpty());
}

TEST_F(BlockTablesTest, WithoutPrefixCachingNothingIsKept) {
  BlockTables tables(pool_, hasher_, false);
  Sequence first = MakeSequence(Count(0, 9));
  Compute(tables, first);
  Sequence again = MakeSequence(Count(0, 9));
  EXPECT_THAT(tables.FindPrefix(again), IsEmpty());
  tables.Release(first);
  EXPECT_EQ(pool_.num_cached(), 0);
}

TEST_F(BlockTablesTest, AttachedBlocksCountAsComputed) {
  Sequence first = MakeSequence(Count(0, 9));
  Compute(tables_, first);
  Sequence again = MakeSequence(Count(0, 9));
  tables_.AttachPrefix(again, tables_.FindPrefix(again));
  EXPECT_EQ(again.num_computed, 8);
  EXPECT_EQ(pool_.references(first.blocks[0]), 2);
  EXPECT_EQ(tables_.NumExclusive(first), 1);
  EXPECT_EQ(tables_.NumExclusive(again), 0);
}

TEST_F(BlockTablesTest, EqualBlocksComputedTwiceBecomeOne) {
  Sequence first = MakeSequence(Count(0, 9));
  Sequence second = MakeSequence(Count(0, 9));
  ASSERT_EQ(tables_.Grow(first, 9), 9);
  ASSERT_EQ(tables_.Grow(second, 9), 9);
  EXPECT_EQ(pool_.num_used(), 6);
  tables_.MarkComputed(first, 9);
  tables_.MarkComputed(second, 9);
  EXPECT_EQ(pool_.num_used(), 4);
  EXPECT_EQ(first.blocks[1], second.blocks[1]);
  EXPECT_NE(first.blocks[2], second.blocks[2]);
}

TEST_F(BlockTablesTest, ReleasedTablesAreEvictedFromTheirEnd) {
  Sequence first = MakeSequence(Count(0, 64));
  Compute(tables_, first);
  const std::vector<int32_t> blocks = first.blocks;
  tables_.Release(first);
  EXPECT_EQ(first.num_computed, 0);
  EXPECT_EQ(pool_.num_cached(), 16);
  EXPECT_EQ(pool_.Allocate(), blocks[15]);
  EXPECT_EQ(pool_.Allocate(), blocks[14]);
  Sequence again = MakeSequence(Count(0, 64));
  EXPECT_EQ(tables_.FindPrefix(again).size(), 14u);
  EXPECT_EQ(tables_.NumUnreferenced(tables_.FindPrefix(again)), 14);
}

TEST_F(BlockTablesTest, CollidingHashesNeverShareBlocks) {
  const CollidingHasher colliding;
  BlockTables tables(pool_, colliding, true);
  Sequence first = MakeSequence(Count(0, 12));
  Compute(tables, first);
  EXPECT_EQ(first.num_indexed, 1);  // its own second block met the hash of its first
  Sequence second = MakeSequence(Count(50, 12));
  EXPECT_THAT(tables.FindPrefix(second), IsEmpty());
  Compute(tables, second);
  EXPECT_EQ(second.num_indexed, 0);
  Sequence again = MakeSequence(Count(0, 12));
  EXPECT_THAT(tables.FindPrefix(again), ElementsAre(first.blocks[0]));
  tables.Release(first);
  tables.Release(second);
  EXPECT_EQ(pool_.num_used(), 0);
}

TEST_F(BlockTablesTest, TrimLetsGoOfBlocksBeyondWhatIsComputed) {
  Sequence sequence = MakeSequence(Count(0, 20));
  EXPECT_EQ(tables_.Grow(sequence, 17), 17);
  tables_.MarkComputed(sequence, 9);
  tables_.Trim(sequence);
  EXPECT_EQ(sequence.blocks.size(), 3u);
  EXPECT_EQ(pool_.num_used(), 3);
  tables_.Trim(sequence);
  EXPECT_EQ(sequence.blocks.size(), 3u);
  EXPECT_EQ(sequence.num_indexed, 2);
  tables_.Release(sequence);
  tables_.Trim(sequence);
  EXPECT_EQ(pool_.num_used(), 0);
}

}  // namespace
}  // namespace affine
