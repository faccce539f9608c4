#include "model/runtime/worker_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace affine {
namespace {

TEST(WorkerTeamTest, CallsTheBodyOnceForEachItem) {
  WorkerTeam team(4);
  for (int64_t count : {0, 1, 2, 7, 1000}) {
    std::vector<std::atomic<int>> calls(count);
    team.ParallelFor(count, [&](int64_t item, int) { calls[item]++; });
    for (const auto& n : calls) EXPECT_EQ(n, 1);
  }
}

TEST(WorkerTeamTest, ThreadNumbersAreBelowTheSizeAndNeverSharedAtOnce) {
  WorkerTeam team(3);
  std::vector<std::atomic<int>> inside(team.size());
  std::atomic<bool> clash = false;
  for (int round = 0; round < 200; ++round) {
    team.ParallelFor(64, [&](int64_t, int thread) {
      if (thread < 0 || thread >= team.size() || inside[thread]++ != 0) clash = true;
      inside[thread]--;
    });
  }
  EXPECT_FALSE(clash);
}

TEST(WorkerTeamTest, WritesOfAllItemsAreSeenAfterTheCall) {
  WorkerTeam team(4);
  std::vector<int64_t> values(4096, 0);
  for (int64_t round = 1; round <= 2000; ++round) {
    team.ParallelFor(64, [&](int64_t item, int) { values[item] += item; });
  }
  for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(values[i], 2000 * i);
}

TEST(WorkerTeamTest, ATeamOfOneWorksAlone) {
  WorkerTeam team(1);
  int sum = 0;
  team.ParallelFor(10, [&](int64_t item, int thread) {
    EXPECT_EQ(thread, 0);
    sum += static_cast<int>(item);
  });
  EXPECT_EQ(sum, 45);
}

TEST(WorkerTeamTest, ZeroTakesOneThreadForEachCore) {
  EXPECT_EQ(WorkerTeam(0).size(), std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace affine
