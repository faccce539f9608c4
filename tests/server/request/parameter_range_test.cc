#include "server/request/parameter_range.h"

#include <gtest/gtest.h>

#include <limits>

namespace affine {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ParameterRangeTest, ARealNumberIsNamedWithItsLimits) {
  const RealRange range{"temperature", 0, 100};
  EXPECT_FALSE(range.Check(0));
  EXPECT_FALSE(range.Check(100));
  const auto error = range.Check(kNan);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->cause, ErrorCause::kBadInput);
  EXPECT_EQ(error->param, "temperature");
  EXPECT_EQ(error->message, "`temperature` is nan; it must be a finite number in [0, 100]");
}

TEST(ParameterRangeTest, WhatIsNotFiniteIsOutsideOfEveryRange) {
  const RealRange all{"x", -kInfinity, kInfinity};
  EXPECT_TRUE(all.Check(kNan));
  EXPECT_TRUE(all.Check(kInfinity));
  EXPECT_TRUE(all.Check(-kInfinity));
  EXPECT_FALSE(all.Check(0));
}

TEST(ParameterRangeTest, AnOpenLowerLimitIsOutside) {
  const RealRange range{"top_p", 0, 1, true};
  EXPECT_FALSE(range.Check(std::numeric_limits<double>::min()));
  EXPECT_FALSE(range.Check(1));
  ASSERT_TRUE(range.Check(0));
  EXPECT_EQ(range.Check(0)->message, "`top_p` is 0; it must be a finite number in (0, 1]");
}

TEST(ParameterRangeTest, AnIntegerIsNamedWithItsLimits) {
  const IntegerRange range{"logprobs", 0, 20};
  EXPECT_FALSE(range.Check(0));
  EXPECT_FALSE(range.Check(20));
  EXPECT_TRUE(range.Check(-1));
  ASSERT_TRUE(range.Check(21));
  EXPECT_EQ(range.Check(21)->message, "`logprobs` is 21; it must be an integer in [0, 20]");
}

TEST(ParameterRangeTest, DecimalsAreShort) {
  EXPECT_EQ(DecimalOf(0.1), "0.1");
  EXPECT_EQ(DecimalOf(100.1f), "100.1");
  EXPECT_EQ(DecimalOf(-kNan), "nan");
  EXPECT_EQ(DecimalOf(-kInfinity), "-inf");
  EXPECT_EQ(DecimalOf(1e300), "1e+300");
}

}  // namespace
}  // namespace affine
