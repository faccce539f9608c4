#include "server/app/comma_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace affine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CommaListTest, IsCutAtEachComma) {
  EXPECT_THAT(CommaList("a"), ElementsAre("a"));
  EXPECT_THAT(CommaList("a,b=/c d,e"), ElementsAre("a", "b=/c d", "e"));
}

TEST(CommaListTest, EmptyPartsAreKeptAndAnEmptyTextHasNone) {
  EXPECT_THAT(CommaList(""), IsEmpty());
  EXPECT_THAT(CommaList("a,,b,"), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(CommaList(","), ElementsAre("", ""));
}

TEST(CommaListTest, ABackslashKeepsACommaInsideAPartAndStandsForItselfElsewhere) {
  EXPECT_THAT(CommaList("a\\,b,c"), ElementsAre("a,b", "c"));
  EXPECT_THAT(CommaList("a\\b,c\\"), ElementsAre("a\\b", "c\\"));
}

TEST(PositiveNumberTest, IsFiniteAndAboveZero) {
  EXPECT_EQ(PositiveNumber("80"), 80);
  EXPECT_EQ(PositiveNumber("0.05"), 0.05);
  EXPECT_EQ(PositiveNumber("1e3"), 1000);
  for (const char* bad : {"", "0", "-0", "-1", "x", "1x", "nan", "inf", "1e999", "1 2"}) {
    EXPECT_EQ(PositiveNumber(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace affine
