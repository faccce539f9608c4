#include "server/app/stability_limits_flag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace affine {
namespace {

using testing::HasSubstr;

/// What is wrong with `text`; empty if nothing is.
std::string Problem(const std::string& text, Config* config = nullptr) {
  Config scratch;
  return StabilityLimitsFlag().set(text, config != nullptr ? *config : scratch).value_or("");
}

TEST(StabilityLimitsFlagTest, TakesAnyOfTheLimits) {
  Config config;
  EXPECT_EQ(Problem("largest_score=80,entropy=0.05,alpha_drift=0.2", &config), "");
  EXPECT_EQ(config.stability_limits.largest_score, 80);
  EXPECT_EQ(config.stability_limits.entropy, 0.05);
  EXPECT_EQ(config.stability_limits.alpha_drift, 0.2);
}

TEST(StabilityLimitsFlagTest, WhatIsNotNamedHasNoLimit) {
  Config config;
  Problem("largest_score=80,alpha_drift=0.2", &config);
  EXPECT_EQ(Problem("entropy=1e-3", &config), "");
  EXPECT_EQ(config.stability_limits.largest_score, std::nullopt);
  EXPECT_EQ(config.stability_limits.alpha_drift, std::nullopt);
  EXPECT_EQ(StabilityLimitsFlag().show(config), "entropy=0.001");
  EXPECT_EQ(Problem("", &config), "");
  EXPECT_EQ(config.stability_limits.entropy, std::nullopt);
}

TEST(StabilityLimitsFlagTest, AMistakeIsNamedAndChangesNothing) {
  Config config;
  EXPECT_EQ(Problem("largest_score=80,speed=1", &config),
            "there is no limit 'speed'; there are largest_score, entropy and alpha_drift");
  EXPECT_EQ(config.stability_limits.largest_score, std::nullopt);
  EXPECT_THAT(Problem("entropy=1,entropy=2"), HasSubstr("entropy is in it twice"));
  EXPECT_THAT(Problem("80"), HasSubstr("'80' in it must be LIMIT=NUMBER"));
  EXPECT_THAT(Problem("entropy=1,"), HasSubstr("'' in it must be LIMIT=NUMBER"));
}

TEST(StabilityLimitsFlagTest, ALimitIsFiniteAndAboveZero) {
  for (const char* bad : {"0", "-1", "nan", "inf", "1e999", "x", "", "1=2"}) {
    EXPECT_EQ(Problem(std::string("entropy=") + bad),
              std::string("entropy must be a finite number above 0, not '") + bad +
                  "'; leave a limit out to have none");
  }
}

}  // namespace
}  // namespace affine
