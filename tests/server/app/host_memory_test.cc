#include "server/app/host_memory.h"

#include <gtest/gtest.h>

#include "tests/server/app/temp_folder.h"

namespace affine {
namespace {

constexpr int64_t kGib = int64_t{1} << 30;

TEST(HostMemoryTest, ReadsWhatTheKernelOffers) {
  const TempFolder root;
  root.Write("proc/meminfo", "MemTotal:  9 kB\nMemFree:  1 kB\nMemAvailable:   2048 kB\n");
  EXPECT_EQ(AvailableMemory(root.path()), 2048 * 1024);
}

TEST(HostMemoryTest, AControlGroupsLimitGoesBeforeTheKernels) {
  const TempFolder root;
  root.Write("proc/meminfo", "MemAvailable:   999999 kB\n");
  root.Write("sys/fs/cgroup/memory.max", "5000\n");
  root.Write("sys/fs/cgroup/memory.current", "2000\n");
  EXPECT_EQ(AvailableMemory(root.path()), 3000);
  root.Write("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(AvailableMemory(root.path()), 999999 * int64_t{1024});
  root.Write("sys/fs/cgroup/memory.max", "1000\n");
  EXPECT_EQ(AvailableMemory(root.path()), 0);
}

TEST(HostMemoryTest, ReadsTheOlderControlGroupToo) {
  const TempFolder root;
  root.Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "7000\n");
  root.Write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n");
  EXPECT_EQ(AvailableMemory(root.path()), 6000);
}

TEST(HostMemoryTest, KnowsWhenItDoesNotKnow) {
  const TempFolder root;
  EXPECT_EQ(AvailableMemory(root.path()), std::nullopt);
  EXPECT_GT(AvailableMemory().value_or(0), 0) << "this machine";
}

TEST(HostMemoryTest, TheCacheTakesAQuarterUpToALimit) {
  EXPECT_EQ(CacheBytes(0, 8 * kGib), 2 * kGib);
  EXPECT_EQ(CacheBytes(0, 100 * kGib), 4 * kGib);
  EXPECT_EQ(CacheBytes(0, 0), kGib / 16);
  EXPECT_EQ(CacheBytes(0, std::nullopt), kGib);
}

TEST(HostMemoryTest, ASizeThatWasGivenIsTaken) {
  EXPECT_EQ(CacheBytes(0.5, 100 * kGib), kGib / 2);
  EXPECT_EQ(CacheBytes(64, kGib), 64 * kGib);
}

}  // namespace
}  // namespace affine
