#include "server/scheduler/block_pool.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace affine {
namespace {

class BlockPoolTest : public testing::Test {
 protected:
  static constexpr int32_t kBlocks = 4;

  // Allocates a block and enters it under `number`.
  int32_t Cached(uint64_t number, int32_t parent = kNoBlock) {
    const int32_t block = pool_.Allocate().value();
    EXPECT_EQ(pool_.Enter(block, Key(number, parent)), block);
    return block;
  }
  BlockKey Key(uint64_t number, int32_t parent = kNoBlock) {
    return {.hash = {number, 0}, .parent = parent, .tokens = tokens_, .cache_salt = ""};
  }

  const std::vector<int32_t> tokens_ = {1, 2};
  BlockPool pool_{kBlocks, 2};
};

TEST_F(BlockPoolTest, GivesEachBlockOnceAndThenNone) {
  std::set<int32_t> blocks;
  for (int32_t i = 0; i < kBlocks; ++i) blocks.insert(pool_.Allocate().value());
  EXPECT_EQ(blocks, (std::set<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(pool_.Allocate(), std::nullopt);
  EXPECT_EQ(pool_.num_free(), 0);
  EXPECT_EQ(pool_.num_used(), kBlocks);
}

TEST_F(BlockPoolTest, ABlockIsFreeOnlyWhenItsLastReferenceGoes) {
  const int32_t block = pool_.Allocate().value();
  pool_.Share(block);
  EXPECT_EQ(pool_.references(block), 2);
  pool_.Release(block);
  EXPECT_EQ(pool_.num_used(), 1);
  pool_.Release(block);
  EXPECT_EQ(pool_.num_used(), 0);
  EXPECT_EQ(pool_.num_free(), kBlocks);
}

TEST_F(BlockPoolTest, AFreedBlockStaysFindableUntilItIsNeeded) {
  const int32_t block = Cached(1);
  pool_.Release(block);
  EXPECT_EQ(pool_.num_cached(), 1);
  EXPECT_EQ(pool_.num_free(), kBlocks);
  EXPECT_EQ(pool_.Find(Key(1)), block);
  for (int32_t i = 0; i < kBlocks; ++i) ASSERT_TRUE(pool_.Allocate());
  EXPECT_EQ(pool_.Find(Key(1)), std::nullopt);
  EXPECT_EQ(pool_.num_cached(), 0);
}

TEST_F(BlockPoolTest, AFoundBlockIsUsedAgain) {
  const int32_t block = Cached(1);
  pool_.Release(block);
  pool_.Share(block);
  EXPECT_EQ(pool_.references(block), 1);
  EXPECT_EQ(pool_.num_cached(), 0);
  for (int32_t i = 0; i < kBlocks - 1; ++i) EXPECT_NE(pool_.Allocate(), block);
  EXPECT_EQ(pool_.Allocate(), std::nullopt);
  EXPECT_EQ(pool_.Find(Key(1)), block);
}

TEST_F(BlockPoolTest, UselessBlocksAreTakenBeforeCachedOnes) {
  const int32_t cached = Cached(1);
  const int32_t plain = pool_.Allocate().value();
  pool_.Release(cached);
  pool_.Release(plain);
  for (int32_t i = 0; i < kBlocks - 1; ++i) EXPECT_NE(pool_.Allocate(), cached);
  EXPECT_EQ(pool_.Allocate(), cached);
}

TEST_F(BlockPoolTest, EvictsTheLeastRecentlyUsed) {
  const std::vector<int32_t> blocks = {Cached(1), Cached(2), Cached(3), Cached(4)};
  for (const int32_t block : blocks) pool_.Release(block);
  pool_.Share(blocks[0]);  // used once more, so it goes last
  pool_.Release(blocks[0]);
  EXPECT_EQ(pool_.Allocate(), blocks[1]);
  EXPECT_EQ(pool_.Allocate(), blocks[2]);
  EXPECT_EQ(pool_.Allocate(), blocks[3]);
  EXPECT_EQ(pool_.Find(Key(1)), blocks[0]);
  EXPECT_EQ(pool_.Allocate(), blocks[0]);
}

}  // namespace
}  // namespace affine
