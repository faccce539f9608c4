#include "model/available_memory.h"

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace affine {
namespace {

constexpr int64_t kKib = 1024;
const char kRoomyKernel[] = "MemAvailable:   999999 kB\n";

/// A file system root with what the kernel would say there.
class AvailableMemoryTest : public testing::Test {
 protected:
  void Kernel(const std::string& meminfo) { root_.Write("proc/meminfo", meminfo); }
  void OwnGroup(const std::string& lines) { root_.Write("proc/self/cgroup", lines); }
  void Version2(const std::string& group, const std::string& max, const std::string& current) {
    root_.Write("sys/fs/cgroup" + group + "/memory.max", max + "\n");
    root_.Write("sys/fs/cgroup" + group + "/memory.current", current + "\n");
  }
  void Version1(const std::string& group, const std::string& limit, const std::string& usage) {
    root_.Write("sys/fs/cgroup/memory" + group + "/memory.limit_in_bytes", limit + "\n");
    root_.Write("sys/fs/cgroup/memory" + group + "/memory.usage_in_bytes", usage + "\n");
  }
  std::optional<int64_t> Available() const { return AvailableMemory(root_.path()); }

  const TempFolder root_;
};

TEST_F(AvailableMemoryTest, IsWhatTheKernelOffersWithoutGroups) {
  Kernel("MemTotal:  9 kB\nMemFree:  1 kB\nMemAvailable:   2048 kB\n");
  EXPECT_EQ(Available(), 2048 * kKib);
}

TEST_F(AvailableMemoryTest, IsWhatTheGroupsLimitLeavesWhereThatIsLess) {
  Kernel(kRoomyKernel);
  Version2("", "5000", "2000");
  EXPECT_EQ(Available(), 3000);
  Version2("", "max", "2000");
  EXPECT_EQ(Available(), 999999 * kKib);
  Version2("", "9000000000", "0");
  EXPECT_EQ(Available(), 999999 * kKib);
}

TEST_F(AvailableMemoryTest, IsNothingInAGroupOverItsLimit) {
  Kernel(kRoomyKernel);
  Version2("", "1000", "2000");
  EXPECT_EQ(Available(), 0);
}

TEST_F(AvailableMemoryTest, CountsTheGroupsCachedFilePagesAsFree) {
  Kernel(kRoomyKernel);
  Version2("", "5000", "4000");
  root_.Write("sys/fs/cgroup/memory.stat",
              "anon 900\nfile 3100\ninactive_file 2500\nactive_file 600\n");
  EXPECT_EQ(Available(), 4100);
  root_.Write("sys/fs/cgroup/memory.stat", "inactive_file 9999\n");
  EXPECT_EQ(Available(), 5000) << "pages that were counted a moment later than the rest";
}

TEST_F(AvailableMemoryTest, LooksIntoTheProcessOwnGroup) {
  Kernel(kRoomyKernel);
  OwnGroup("0::/system.slice/affine.service\n");
  Version2("/system.slice/affine.service", "5000", "1000");
  Version2("/system.slice/other.service", "50", "1");
  EXPECT_EQ(Available(), 4000);
}

TEST_F(AvailableMemoryTest, HeedsTheLimitsOfGroupsAround) {
  Kernel(kRoomyKernel);
  OwnGroup("0::/system.slice/affine.service\n");
  Version2("/system.slice/affine.service", "max", "1000");
  Version2("/system.slice", "8000", "2000");
  EXPECT_EQ(Available(), 6000);
}

TEST_F(AvailableMemoryTest, FindsItsGroupAtTheMountWhenItsPathIsAnotherOutside) {
  Kernel(kRoomyKernel);
  OwnGroup("0::/../../kubepods/pod1/container\n");
  Version2("", "7000", "3000");
  EXPECT_EQ(Available(), 4000);
}

TEST_F(AvailableMemoryTest, ReadsTheOlderGroupsToo) {
  OwnGroup("5:cpuset:/elsewhere\n4:cpu,memory:/a:b\n0::/\n");
  Version1("", "9223372036854771712", "5000");
  Version1("/a:b", "7000", "3000");
  Version1("/elsewhere", "10", "3");
  root_.Write("sys/fs/cgroup/memory/a:b/memory.stat",
              "inactive_file 7\ntotal_inactive_file 1500\ntotal_active_file 500\n");
  EXPECT_EQ(Available(), 6000);
}

TEST_F(AvailableMemoryTest, IsUnsetWhereNothingCanBeRead) { EXPECT_EQ(Available(), std::nullopt); }

TEST_F(AvailableMemoryTest, IsSomethingOnThisMachine) {
  EXPECT_GT(AvailableMemory().value_or(0), 0);
}

}  // namespace
}  // namespace affine
