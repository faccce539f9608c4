#include "server/admission/start_rate.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace affine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(StartRateTest, SaysOneSecondWhileNothingIsKnown) {
  EXPECT_EQ(StartRate().SecondsFor(1000, FakeClock().Now()), 1);
}

TEST(StartRateTest, FollowsTheRecentRate) {
  FakeClock clock;
  StartRate rate;
  for (int i = 0; i < 100; ++i) {
    rate.Note(1, clock.Now());
    clock.Advance(milliseconds(250));
  }
  EXPECT_EQ(rate.SecondsFor(4, clock.Now()), 1);
  EXPECT_EQ(rate.SecondsFor(40, clock.Now()), 10);
}

TEST(StartRateTest, AStandstillMakesTheEstimateGrow) {
  FakeClock clock;
  StartRate rate;
  rate.Note(32, clock.Now());
  clock.Advance(seconds(1));
  EXPECT_EQ(rate.SecondsFor(32, clock.Now()), 1);
  clock.Advance(seconds(9));
  EXPECT_EQ(rate.SecondsFor(32, clock.Now()), 10);
}

TEST(StartRateTest, NeverSaysMoreThanAMinute) {
  FakeClock clock;
  StartRate rate;
  rate.Note(1, clock.Now());
  clock.Advance(seconds(100));
  EXPECT_EQ(rate.SecondsFor(1000, clock.Now()), 60);
}

}  // namespace
}  // namespace affine
