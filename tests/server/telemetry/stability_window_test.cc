#include "server/telemetry/stability_window.h"

#include <gtest/gtest.h>

#include <thread>

namespace affine {
namespace {

HeadStability Queries(int64_t queries, double entropy) {
  HeadStability head;
  head.queries = queries;
  head.entropy = entropy;
  return head;
}

TEST(StabilityWindowTest, SumsEachHeadOverItsSteps) {
  StabilityWindow window(2, 1);
  EXPECT_EQ(window.Snapshot().sums, std::vector<HeadStability>(2));
  const std::vector<HeadStability> first = {Queries(1, 2.0), Queries(1, 3.0)};
  const std::vector<HeadStability> second = {Queries(4, 1.0), Queries(4, 0.5)};
  window.Add(first);
  window.Add(second);
  EXPECT_EQ(window.Snapshot().steps, 2);
  EXPECT_EQ(window.Snapshot().layers, 2);
  EXPECT_EQ(window.Snapshot().heads, 1);
  EXPECT_EQ(window.Snapshot().sums, (std::vector<HeadStability>{Queries(5, 3.0), Queries(5, 3.5)}));
}

TEST(StabilityWindowTest, TheOldestStepLeavesAFullWindow) {
  StabilityWindow window(1, 1);
  const std::vector<HeadStability> old = {Queries(1000, 1.0)}, one = {Queries(1, 1.0)};
  window.Add(old);
  for (size_t i = 0; i < StabilityWindow::kSteps; ++i) window.Add(one);
  EXPECT_EQ(window.Snapshot().sums[0].queries, static_cast<int64_t>(StabilityWindow::kSteps));
  EXPECT_EQ(window.Snapshot().steps, static_cast<int32_t>(StabilityWindow::kSteps));
}

TEST(StabilityWindowTest, IsReadWhileItIsFilled) {
  StabilityWindow window(3, 2);
  const std::vector<HeadStability> step(6, Queries(1, 0.5));
  std::thread engine([&] {
    for (int i = 0; i < 2000; ++i) window.Add(step);
  });
  for (int i = 0; i < 200; ++i) {
    for (const HeadStability& head : window.Snapshot().sums)
      EXPECT_EQ(head.entropy, 0.5 * static_cast<double>(head.queries));
  }
  engine.join();
}

}  // namespace
}  // namespace affine
