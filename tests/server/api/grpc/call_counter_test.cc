#include "server/api/grpc/call_counter.h"

#include <gtest/gtest.h>

#include <thread>

namespace affine {
namespace {

TEST(CallCounterTest, NoCallIsNothingToWaitFor) {
  CallCounter counter;
  EXPECT_TRUE(counter.AwaitNone(Clock::Time::min()));
}

TEST(CallCounterTest, GivesUpAtTheDeadline) {
  CallCounter counter;
  counter.Enter();
  EXPECT_FALSE(counter.AwaitNone(Clock::Time::min()));
  EXPECT_FALSE(counter.AwaitNone(SteadyClock().Now() + std::chrono::milliseconds(1)));
  counter.Leave();
  EXPECT_TRUE(counter.AwaitNone(Clock::Time::min()));
}

TEST(CallCounterTest, WaitsForTheLastCall) {
  CallCounter counter;
  counter.Enter();
  counter.Enter();
  std::jthread calls([&] {
    counter.Leave();
    counter.Leave();
  });
  EXPECT_TRUE(counter.AwaitNone(SteadyClock().Now() + std::chrono::minutes(1)));
}

}  // namespace
}  // namespace affine
