#include "model/layers/pack_panel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "model/runtime/bfloat16.h"
#include "tests/support/tensor_source.h"

namespace affine {
namespace {

std::vector<char> Packed(WeightFormat format, std::vector<float> row) {
  const auto inputs = static_cast<int64_t>(row.size());
  const TensorSource weight({1, inputs}, std::move(row));
  std::vector<char> panel(PanelBytes(format, inputs));
  PackPanel(format, weight.view(), 0, 1, panel.data());
  return panel;
}

float Scale(const std::vector<char>& panel, int64_t group) {
  float scale;
  std::memcpy(&scale, panel.data() + group * PanelBytes(WeightFormat::kInt8, kInt8Group), 4);
  return scale;
}

int Int8Code(const std::vector<char>& panel, int64_t i) {
  return static_cast<signed char>(
      panel[i / kInt8Group * PanelBytes(WeightFormat::kInt8, kInt8Group) + kGroupHeadBytes +
            i % kInt8Group * kPanelWidth]);
}

TEST(PackPanelTest, BytesAreHeadsAndCodes) {
  EXPECT_EQ(PanelBytes(WeightFormat::kFloat32, 7), 7 * 64);
  EXPECT_EQ(PanelBytes(WeightFormat::kBfloat16, 7), 8 * 32);
  EXPECT_EQ(PanelBytes(WeightFormat::kInt8, 7), 64 + 8 * 16);
  EXPECT_EQ(PanelBytes(WeightFormat::kInt8, 65), 2 * 64 + 72 * 16);
  EXPECT_EQ(PanelBytes(WeightFormat::kInt4, 7), 64 + 8 * 8);
  EXPECT_EQ(PanelBytes(WeightFormat::kInt4, 33), 2 * 64 + 40 * 8);
}

TEST(PackPanelTest, Int8TakesTheLargestMagnitudeOfAGroupFor127) {
  std::vector<float> row(kInt8Group + 3, 0.5f);
  row[1] = -2.0f;
  row[2] = 1.0f / 127;
  row[kInt8Group] = 8.0f;
  const std::vector<char> panel = Packed(WeightFormat::kInt8, row);
  EXPECT_EQ(Scale(panel, 0), 2.0f / 127);
  EXPECT_EQ(Scale(panel, 1), 8.0f / 127);
  EXPECT_EQ(Int8Code(panel, 0), 32);  // 31.75
  EXPECT_EQ(Int8Code(panel, 1), -127);
  EXPECT_EQ(Int8Code(panel, 2), 0);  // 0.5: to even
  EXPECT_EQ(Int8Code(panel, kInt8Group), 127);
  EXPECT_EQ(Int8Code(panel, kInt8Group + 1), 8);  // 7.94
}

TEST(PackPanelTest, Int4SpansFromTheLeastToTheLargestNumberOfAGroup) {
  std::vector<float> row(kInt4Group);
  for (int64_t i = 0; i < kInt4Group; ++i) row[i] = -3.0f + 0.5f * static_cast<float>(i % 16);
  const std::vector<char> panel = Packed(WeightFormat::kInt4, row);
  uint16_t head[2];
  std::memcpy(head, panel.data(), sizeof(head));
  EXPECT_EQ(FromBfloat16(head[0]), 8.0f);
  EXPECT_EQ(FromBfloat16(head[1]), -3.0f);
  for (int64_t eight = 0; eight < kInt4Group / 8; ++eight) {
    uint32_t codes;
    std::memcpy(&codes, panel.data() + kGroupHeadBytes + eight * 64, sizeof(codes));
    EXPECT_EQ(codes, eight % 2 == 0 ? 0x75316420u : 0xfdb9eca8u);
  }
}

TEST(PackPanelTest, AGroupOfOneNumberIsThatNumber) {
  const std::vector<float> zeros(kInt8Group), halves(kInt4Group, -0.5f);
  EXPECT_EQ(Scale(Packed(WeightFormat::kInt8, zeros), 0), 0.0f);
  const std::vector<char> panel = Packed(WeightFormat::kInt4, halves);
  uint16_t head[2];
  std::memcpy(head, panel.data(), sizeof(head));
  EXPECT_EQ(FromBfloat16(head[0]), 0.0f);
  EXPECT_EQ(FromBfloat16(head[1]), -0.5f);
}

TEST(PackPanelTest, WhatIsNotFiniteMakesItsGroupNaN) {
  for (const float broken : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    std::vector<float> row(2 * kInt8Group, 1.0f);
    row[kInt8Group + 5] = broken;
    const std::vector<char> int8 = Packed(WeightFormat::kInt8, row);
    EXPECT_EQ(Scale(int8, 0), 1.0f / 127);
    EXPECT_TRUE(std::isnan(Scale(int8, 1)));
    const std::vector<char> int4 = Packed(WeightFormat::kInt4, row);
    uint16_t head[2];
    std::memcpy(head, int4.data() + 2 * PanelBytes(WeightFormat::kInt4, kInt4Group), sizeof(head));
    EXPECT_TRUE(std::isnan(FromBfloat16(head[0])));
  }
}

}  // namespace
}  // namespace affine
