#include "server/scheduler/step_cost.h"

#include <gtest/gtest.h>

#include <random>

namespace affine {
namespace {

TEST(StepCostTest, AssumesAFixedPartUntilItHasSeenAnything) {
  StepCost cost;
  EXPECT_EQ(cost.fixed_rows(), StepCost::kAssumedRows);
  cost.Note(5, 0.0);  // a clock that stands still
  EXPECT_EQ(cost.fixed_rows(), StepCost::kAssumedRows);
}

TEST(StepCostTest, KeepsToTheAssumptionWhereRowsNeverDiffer) {
  StepCost cost;
  for (int i = 0; i < 1000; ++i) cost.Note(1, 0.005);
  EXPECT_NEAR(cost.fixed_rows(), StepCost::kAssumedRows, 1e-9);
}

TEST(StepCostTest, FindsFixedPartAndRowsOfNoisySteps) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(1.0, 0.05);
  for (const double fixed : {2.0, 20.0, 60.0}) {
    StepCost cost;
    for (int i = 0; i < 1000; ++i) {
      const auto rows = static_cast<int32_t>(1 + random() % 16);
      cost.Note(rows, 1e-4 * (fixed + rows) * noise(random));
    }
    EXPECT_NEAR(cost.fixed_rows(), fixed, 0.25 * fixed + 0.5) << fixed;
  }
}

TEST(StepCostTest, FollowsAChangeAndOutlivesASingleLongStep) {
  StepCost cost;
  const auto run = [&cost](double fixed) {
    for (int i = 0; i < 1500; ++i) cost.Note(1 + i % 8, 1e-4 * (fixed + 1 + i % 8));
  };
  run(10.0);
  EXPECT_NEAR(cost.fixed_rows(), 10.0, 1.5);
  run(40.0);
  EXPECT_NEAR(cost.fixed_rows(), 40.0, 8.0);
  cost.Note(8, 10.0);  // the process was stopped for a while
  run(40.0);
  EXPECT_NEAR(cost.fixed_rows(), 40.0, 8.0);
}

TEST(StepCostTest, NoRowIsFreeAndNoStepBelowNothing) {
  StepCost falling, steep;
  for (int i = 0; i < 500; ++i) {
    const int32_t rows = 1 + i % 8;
    falling.Note(rows, 0.02 - 0.001 * rows);
    steep.Note(rows, 1e-4 * rows * rows);
  }
  EXPECT_GT(falling.fixed_rows(), 100.0);
  EXPECT_LT(falling.fixed_rows(), 1e6);
  EXPECT_GE(steep.fixed_rows(), 0.0);
  EXPECT_LT(steep.fixed_rows(), 1.0);
}

}  // namespace
}  // namespace affine
