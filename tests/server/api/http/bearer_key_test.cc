#include "server/api/http/bearer_key.h"

#include <gtest/gtest.h>

namespace affine {
namespace {

TEST(BearerKeyTest, WithoutAKeyEveryoneMayCall) {
  EXPECT_TRUE(BearerKey("").Accepts(""));
  EXPECT_TRUE(BearerKey("").Accepts("Bearer anything"));
}

TEST(BearerKeyTest, TakesTheKeyAloneInTheBearerScheme) {
  const BearerKey key("sesame");
  EXPECT_TRUE(key.Accepts("Bearer sesame"));
  EXPECT_TRUE(key.Accepts("bearer sesame"));
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer sesam", "Bearer sesamE", "sesame",
                            "Bearer sesamesesame", "Basic sesame", "Bearer  sesame"}) {
    EXPECT_FALSE(key.Accepts(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace affine
