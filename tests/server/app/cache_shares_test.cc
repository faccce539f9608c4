#include "server/app/cache_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace affine {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;

using Names = std::vector<std::string>;

std::vector<double> Shares(const std::string& flag, const Names& names) {
  return std::get<std::vector<double>>(CacheShares(flag, names));
}

std::string Error(const std::string& flag, const Names& names = {"plain", "affine"}) {
  const auto result = CacheShares(flag, names);
  const auto* error = std::get_if<UsageError>(&result);
  return error != nullptr ? error->message : "no error";
}

TEST(CacheSharesTest, AreEvenUnlessSaidOtherwise) {
  EXPECT_THAT(Shares("", {"a"}), ElementsAre(1));
  EXPECT_THAT(Shares("", {"a", "b"}), ElementsAre(0.5, 0.5));
}

TEST(CacheSharesTest, FollowTheWeightsInTheOrderOfTheModels) {
  EXPECT_THAT(Shares("b=1,a=3", {"a", "b"}), ElementsAre(0.75, 0.25));
  EXPECT_THAT(Shares("a=1e308,b=1e308", {"a", "b"}), ElementsAre(DoubleEq(0.5), DoubleEq(0.5)));
  EXPECT_THAT(Shares("a=b=3,c\\,d=1", {"a=b", "c,d"}), ElementsAre(0.75, 0.25));
}

TEST(CacheSharesTest, EveryModelHasOneWeightAndNobodyElse) {
  EXPECT_EQ(Error("plain=1"),
            "--kv_cache_shares is 'plain=1', but 'affine' is not in it; give every model a weight");
  EXPECT_THAT(Error("plain=1,afine=1"),
              HasSubstr("no model is called 'afine'; the models are 'plain', 'affine'"));
  EXPECT_THAT(Error("plain=1,plain=2"), HasSubstr("'plain' is in it twice"));
  EXPECT_THAT(Error("plain=1,affine=1,"), HasSubstr("'' in it must be NAME=WEIGHT"));
  EXPECT_THAT(Error("2,1"), HasSubstr("'2' in it must be NAME=WEIGHT, such as plain=2"));
}

TEST(CacheSharesTest, AWeightIsFiniteAndAboveZero) {
  for (const char* bad : {"plain=0", "plain=-1", "plain=x", "plain=", "plain=inf", "plain=nan"}) {
    EXPECT_THAT(Error(bad), HasSubstr("the weight of 'plain' must be a finite number above 0"));
  }
}

}  // namespace
}  // namespace affine
