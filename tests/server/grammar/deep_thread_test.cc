#include "server/grammar/deep_thread.h"

#include <gtest/gtest.h>

namespace affine {
namespace {

/// Uses 16 KiB of stack for each level, and says how many there were.
int Descend(int levels) {
  volatile char frame[16 << 10];
  frame[levels % sizeof frame] = 1;
  return levels == 0 ? 0 : Descend(levels - 1) + frame[levels % sizeof frame];
}

TEST(DeepThreadTest, HasRoomForWorkThatGoesDeep) {
  int reached = 0;
  {
    DeepThread thread([&] { reached = Descend(4000); });
    thread.Join();
    EXPECT_EQ(reached, 4000);
  }
  {
    const DeepThread thread([&] { reached = 1; });
  }
  EXPECT_EQ(reached, 1);
}

}  // namespace
}  // namespace affine
