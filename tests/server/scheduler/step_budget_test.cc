#include "server/scheduler/step_budget.h"

#include <gtest/gtest.h>

namespace affine {
namespace {

TEST(StepBudgetTest, SetsATokenAsideForEachDecode) {
  EXPECT_EQ(StepBudget(10, 3, 0).for_prefill(), 7);
  EXPECT_EQ(StepBudget(10, 0, 0).for_prefill(), 10);
}

TEST(StepBudgetTest, ThePrefillCapHoldsBesideDecodesOnly) {
  EXPECT_EQ(StepBudget(10, 3, 4).for_prefill(), 4);
  EXPECT_EQ(StepBudget(10, 3, 40).for_prefill(), 7);
  EXPECT_EQ(StepBudget(10, 0, 4).for_prefill(), 10);
}

TEST(StepBudgetTest, ShrinksByWhatIsTaken) {
  StepBudget budget(10, 1, 0);
  budget.TakePrefill(4);
  EXPECT_EQ(budget.for_prefill(), 5);
}

}  // namespace
}  // namespace affine
