#include "server/scheduler/step_budget.h"

#include <gtest/gtest.h>

namespace affine {
namespace {

class StepBudgetTest : public testing::Test {
 protected:
  StepBudget Beside(int32_t decodes, const StepLimits& limits) const {
    StepWork work;
    for (int32_t i = 0; i < decodes; ++i) work.AddDecode(100, 1);
    return StepBudget(limits, work, times_);
  }
  // A step of three decodes and so many tokens of a new prompt.
  double Seconds(int32_t prefill) const {
    StepWork work;
    for (int i = 0; i < 3; ++i) work.AddDecode(100, 1);
    work.AddPrefill(0, prefill);
    return times_.Seconds(work);
  }
  const StepTimeModel times_;
};

TEST_F(StepBudgetTest, SetsATokenAsideForEachDecode) {
  EXPECT_EQ(Beside(3, {.max_tokens = 10}).for_prefill(), 7);
  EXPECT_EQ(Beside(0, {.max_tokens = 10}).for_prefill(), 10);
}

TEST_F(StepBudgetTest, ThePrefillCapHoldsBesideDecodesOnly) {
  EXPECT_EQ(Beside(3, {.max_tokens = 10, .prefill_cap = 4}).for_prefill(), 4);
  EXPECT_EQ(Beside(3, {.max_tokens = 10, .prefill_cap = 40}).for_prefill(), 7);
  EXPECT_EQ(Beside(0, {.max_tokens = 10, .prefill_cap = 4}).for_prefill(), 10);
}

TEST_F(StepBudgetTest, TheTimeHoldsBesideDecodesOnly) {
  const StepLimits limits = {.max_tokens = 1000, .max_seconds = Seconds(100) + 1e-9};
  EXPECT_EQ(Beside(3, limits).Fit(0, 1000, 1), 100);
  EXPECT_EQ(Beside(0, limits).Fit(0, 1000, 1), 1000);
}

TEST_F(StepBudgetTest, TheCapAndTheTimeHoldBoth) {
  const double seconds = Seconds(100) + 1e-9;
  EXPECT_EQ(
      Beside(3, {.max_tokens = 1000, .prefill_cap = 40, .max_seconds = seconds}).Fit(0, 1000, 1),
      40);
  EXPECT_EQ(
      Beside(3, {.max_tokens = 1000, .prefill_cap = 140, .max_seconds = seconds}).Fit(0, 1000, 1),
      100);
}

TEST_F(StepBudgetTest, DecodesThatTakeAllTheTimeLeaveNone) {
  EXPECT_EQ(Beside(3, {.max_tokens = 1000, .max_seconds = Seconds(0) / 2}).Fit(0, 1000, 1), 0);
}

TEST_F(StepBudgetTest, CutsPromptsAtMultiplesOfTheGranuleButLeavesTheirEndsWhole) {
  const StepBudget budget = Beside(0, {.max_tokens = 39});
  EXPECT_EQ(budget.Fit(0, 40, 16), 32);
  EXPECT_EQ(budget.Fit(0, 39, 16), 39);
  EXPECT_EQ(budget.Fit(0, 5, 16), 5);
}

TEST_F(StepBudgetTest, ShrinksByWhatIsTaken) {
  StepBudget budget = Beside(1, {.max_tokens = 10});
  budget.TakePrefill(0, 4);
  EXPECT_EQ(budget.for_prefill(), 5);
  StepBudget timed = Beside(3, {.max_tokens = 1000, .max_seconds = Seconds(100) + 1e-9});
  timed.TakePrefill(0, 60);
  EXPECT_EQ(timed.Fit(60, 1000, 1), 40);
  timed.TakePrefill(60, 50);
  EXPECT_EQ(timed.Fit(110, 1000, 1), 0);
}

TEST_F(StepBudgetTest, HalfOfItHasHalfOfTheTokensAndOfTheTime) {
  EXPECT_EQ(Beside(0, {.max_tokens = 10}).Half().for_prefill(), 5);
  const StepBudget timed = Beside(3, {.max_tokens = 1000, .max_seconds = Seconds(100) + 1e-9});
  EXPECT_NEAR(timed.Half().Fit(0, 1000, 1), 50, 3);
}

}  // namespace
}  // namespace affine
