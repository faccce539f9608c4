#include "server/request/answer_seed.h"

#include <gtest/gtest.h>

#include <set>

namespace affine {
namespace {

TEST(SeedOfAnswerTest, NeighbouringSeedsShareNoAnswers) {
  std::set<uint64_t> seeds;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    for (int32_t answer = 0; answer < 128; ++answer) seeds.insert(SeedOfAnswer(seed, answer));
  }
  EXPECT_EQ(seeds.size(), 50u * 128u);
}

}  // namespace
}  // namespace affine
