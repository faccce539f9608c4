#include "server/app/allowed_origins_flag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace affine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(AllowedOriginsFlagTest, TakesOriginsAndTheStar) {
  Config config;
  const Flag flag = AllowedOriginsFlag();
  const std::string two = "https://chat.example,http://localhost:3000";
  EXPECT_FALSE(flag.set(two, config));
  EXPECT_THAT(config.allowed_origins, ElementsAre("https://chat.example", "http://localhost:3000"));
  EXPECT_EQ(flag.show(config), two);
  EXPECT_FALSE(flag.set("*", config));
  EXPECT_THAT(config.allowed_origins, ElementsAre("*"));
  EXPECT_FALSE(flag.set("", config));
  EXPECT_THAT(config.allowed_origins, IsEmpty());
}

TEST(AllowedOriginsFlagTest, WhatNoBrowserSendsIsRefusedAndChangesNothing) {
  Config config;
  const Flag flag = AllowedOriginsFlag();
  flag.set("https://chat.example", config);
  for (const char* bad : {"chat.example", "https://", "://x", "https://chat.example/",
                          "https://Chat.example", "https://a b", "*,"}) {
    EXPECT_THAT(flag.set(bad, config).value_or(""), HasSubstr("as browsers send it")) << bad;
  }
  EXPECT_THAT(config.allowed_origins, ElementsAre("https://chat.example"));
}

}  // namespace
}  // namespace affine
