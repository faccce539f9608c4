#include "server/grammar/xgrammar/work_budget.h"

#include <gtest/gtest.h>
#include <xgrammar/work_limit.h>

#include <thread>

namespace affine {
namespace {

using xgrammar::WorkLimit;

TEST(WorkBudgetTest, SoManyUnitsAndNoMore) {
  WorkBudget budget(100);
  for (int i = 0; i < 100; ++i) WorkLimit::Spend(1);
  EXPECT_EQ(budget.spent(), 100);
  EXPECT_THROW(WorkLimit::Spend(1), BudgetSpent);
  WorkLimit::Spend(1'000'000);  // what runs while the stack unwinds
}

TEST(WorkBudgetTest, SoMuchTimeAndNoMore) {
  {
    const WorkBudget none(std::chrono::milliseconds(0));
    EXPECT_THROW(WorkLimit::Spend(1'000'000), BudgetSpent);
  }
  const WorkBudget enough(std::chrono::hours(1));
  WorkLimit::Spend(1'000'000'000);
  WorkLimit::Spend(17);
  EXPECT_EQ(enough.spent(), 1'000'000'017);
}

TEST(WorkBudgetTest, WithoutOneThereIsNoLimit) {
  { const WorkBudget budget(1); }
  WorkLimit::Spend(1'000'000'000);
}

TEST(WorkBudgetTest, ThreadsHaveTheirOwn) {
  const WorkBudget budget(1);
  std::thread([] { WorkLimit::Spend(1'000'000); }).join();
  EXPECT_EQ(budget.spent(), 0);
}

}  // namespace
}  // namespace affine
