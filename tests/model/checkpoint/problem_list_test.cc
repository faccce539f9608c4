#include "model/checkpoint/problem_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_error.h"
#include "tests/model/checkpoint/checkpoint_builder.h"

namespace affine {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ProblemListTest, AnEmptyListThrowsNothing) {
  const ProblemList problems;
  EXPECT_TRUE(problems.empty());
  EXPECT_NO_THROW(problems.ThrowIfAny("heading", "remedy"));
}

TEST(ProblemListTest, GroupsByKindInTheOrderOfFirstFaults) {
  ProblemList problems;
  problems.Add("missing", "a");
  problems.Add("unexpected", "b");
  problems.Add("missing", "c");
  EXPECT_EQ(ErrorOf([&] { problems.ThrowIfAny("heading", "remedy"); }),
            "heading\n  missing: a\n  missing: c\n  unexpected: b\nremedy");
}

TEST(ProblemListTest, ListsTwentyOfAKindAndCountsTheRest) {
  ProblemList problems;
  for (int i = 0; i < 25; ++i) problems.Add("missing", std::to_string(i));
  const std::string error = ErrorOf([&] { problems.ThrowIfAny("heading", "remedy"); });
  EXPECT_THAT(error, HasSubstr("missing: 19\n  missing: and 5 more\n"));
  EXPECT_THAT(error, Not(HasSubstr("missing: 20")));
}

}  // namespace
}  // namespace affine
