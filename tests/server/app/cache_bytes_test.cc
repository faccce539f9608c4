#include "server/app/cache_bytes.h"

#include <gtest/gtest.h>

namespace affine {
namespace {

constexpr int64_t kGib = int64_t{1} << 30;

TEST(CacheBytesTest, TheCacheTakesAQuarterUpToALimit) {
  EXPECT_EQ(CacheBytes(0, 8 * kGib), 2 * kGib);
  EXPECT_EQ(CacheBytes(0, 100 * kGib), 4 * kGib);
  EXPECT_EQ(CacheBytes(0, 0), kGib / 16);
  EXPECT_EQ(CacheBytes(0, std::nullopt), kGib);
}

TEST(CacheBytesTest, ASizeThatWasGivenIsTaken) {
  EXPECT_EQ(CacheBytes(0.5, 100 * kGib), kGib / 2);
  EXPECT_EQ(CacheBytes(64, kGib), 64 * kGib);
}

}  // namespace
}  // namespace affine
