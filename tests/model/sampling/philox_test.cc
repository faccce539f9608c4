#include "model/sampling/philox.h"

#include <gtest/gtest.h>

#include <set>

namespace affine {
namespace {

// Known answers published with the Random123 library for philox4x32-10.
TEST(PhiloxTest, GivesThePublishedAnswers) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxTest, UniformIsAFunctionOfSeedAndPositionInTheHalfOpenUnitInterval) {
  std::set<double> seen;
  double sum = 0.0;
  for (int64_t position = 0; position < 10000; ++position) {
    const double u = UniformAt(42, position);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ASSERT_EQ(u, UniformAt(42, position));
    seen.insert(u);
    sum += u;
  }
  EXPECT_EQ(seen.size(), 10000u);
  EXPECT_NEAR(sum / 10000, 0.5, 0.015);
  EXPECT_NE(UniformAt(42, 0), UniformAt(43, 0));
  EXPECT_NE(UniformAt(0, 1), UniformAt(uint64_t{1} << 32, 1));
}

}  // namespace
}  // namespace affine
