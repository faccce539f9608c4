#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "model/runtime/bfloat16.h"
#include "model/runtime/kernels.h"
#include "model/runtime/weight_format.h"

namespace affine {
namespace {

/// Panels of random codes and heads, with what they say, number by number.
class CodedPanels {
 public:
  CodedPanels(WeightFormat format, int64_t k, int64_t panels, uint32_t seed)
      : format_(format), panel_bytes_(PanelBytes(format, k)), bytes_(panel_bytes_ * panels) {
    std::mt19937 engine(seed);
    for (char& byte : bytes_) byte = static_cast<char>(engine() % 255 - 127);  // never -128
    for (int64_t p = 0; p < panels; ++p) {
      char* panel = bytes_.data() + p * panel_bytes_;
      starts_.push_back(panel);
      for (int64_t first = 0; first < k; first += group(), panel += PanelBytes(format, group()))
        SetHead(panel, engine);
    }
  }

  const char* const* starts() const { return starts_.data(); }
  int64_t group() const { return format_ == WeightFormat::kInt8 ? kInt8Group : kInt4Group; }

  /// Element j of the head of input i's group: int8 the scales, int4 the pairs.
  float Head(int64_t i, int64_t column, int64_t which = 0) const {
    const char* head = GroupOf(i, column);
    if (format_ == WeightFormat::kInt8) {
      float scale;
      std::memcpy(&scale, head + 4 * (column % 16), 4);
      return scale;
    }
    uint16_t bits;
    std::memcpy(&bits, head + 4 * (column % 16) + 2 * which, 2);
    return FromBfloat16(bits);
  }

  /// What input i is multiplied with within a group's sum: q, or 1 + q / 16.
  float Code(int64_t i, int64_t column) const {
    const char* codes = GroupOf(i, column) + kGroupHeadBytes;
    const int64_t at = i % group(), j = column % 16;
    if (format_ == WeightFormat::kInt8) return static_cast<signed char>(codes[16 * at + j]);
    uint32_t eight;
    std::memcpy(&eight, codes + (at / 8 * 16 + j) * 4, 4);
    const uint32_t q = eight >> (16 * (at % 2) + 4 * (at % 8 / 2)) & 15;
    return 1.0f + static_cast<float>(q) / 16.0f;
  }

 private:
  const char* GroupOf(int64_t i, int64_t column) const {
    return starts_[column / 16] + i / group() * PanelBytes(format_, group());
  }
  void SetHead(char* head, std::mt19937& engine) const {
    std::normal_distribution<float> normal;
    for (int64_t j = 0; j < 32; ++j) {
      const float x = normal(engine);
      const uint16_t rounded = ToBfloat16(x);
      if (format_ == WeightFormat::kInt4) std::memcpy(head + 2 * j, &rounded, 2);
      if (format_ == WeightFormat::kInt8 && j < 16) std::memcpy(head + 4 * j, &x, 4);
    }
  }
  WeightFormat format_;
  int64_t panel_bytes_;
  std::vector<char> bytes_;
  std::vector<const char*> starts_;
};

struct Product {
  int64_t rows, panels, k;
};

class MultiplyCodesTest : public testing::TestWithParam<std::tuple<CpuIsa, WeightFormat>> {
 protected:
  const Kernels& kernels_ = KernelsFor(std::get<0>(GetParam()));
  const WeightFormat format_ = std::get<1>(GetParam());

  static std::vector<float> Rounded(int64_t n, uint32_t seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    std::vector<float> x(n);
    for (float& v : x) v = FromBfloat16(ToBfloat16(normal(engine)));
    return x;
  }

  // x [rows, k], packed, each row followed by the sums of its groups.
  std::vector<char> Pack(const std::vector<float>& x, const Product& of, int64_t& stride,
                         int64_t& sums_at) const {
    const int64_t groups = (of.k + kInt4Group - 1) / kInt4Group;
    sums_at = groups * kInt4Group * kernels_.packed_bf16_bytes;
    stride = sums_at + groups * 4;
    std::vector<char> packed(of.rows * stride);
    for (int64_t r = 0; r < of.rows; ++r) {
      char* row = packed.data() + r * stride;
      kernels_.pack_bf16(x.data() + r * of.k, of.k, row);
      kernels_.sum_groups(row, groups, reinterpret_cast<float*>(row + sums_at));
    }
    return packed;
  }

  std::vector<float> Multiply(const std::vector<float>& x, const CodedPanels& weight,
                              const Product& of, std::vector<float> c, bool accumulate) const {
    int64_t stride, sums_at;
    const std::vector<char> packed = Pack(x, of, stride, sums_at);
    MultiplyArgs args = {packed.data(), stride,   of.rows,        weight.starts(), of.panels,
                         of.k,          c.data(), 16 * of.panels, accumulate};
    if (format_ == WeightFormat::kInt8) {
      kernels_.multiply_int8({args, nullptr});
    } else {
      kernels_.multiply_int4({args, reinterpret_cast<const float*>(packed.data() + sums_at)});
    }
    return c;
  }

  // The sum of a group of inputs: 16 lanes, then halves, quarters and so on.
  static float GroupSum(const std::vector<float>& x, int64_t first, int64_t end) {
    float lanes[16];
    const auto at = [&](int64_t i) { return i < end ? x[i] : 0.0f; };
    for (int64_t j = 0; j < 16; ++j) lanes[j] = at(first + j) + at(first + 16 + j);
    for (int64_t width = 8; width > 0; width /= 2)
      for (int64_t j = 0; j < width; ++j) lanes[j] += lanes[j + width];
    return lanes[0];
  }

  // What the contract says, element by element.
  std::vector<float> MultiplySimply(const std::vector<float>& x, const CodedPanels& weight,
                                    const Product& of, std::vector<float> c) const {
    const int64_t width = 16 * of.panels, group = weight.group();
    for (int64_t r = 0; r < of.rows; ++r) {
      for (int64_t j = 0; j < width; ++j) {
        for (int64_t first = 0; first < of.k; first += group) {
          const int64_t end = std::min(of.k, first + group);
          float sum = 0.0f, &total = c[r * width + j];
          for (int64_t i = first; i < end; ++i)
            sum = std::fma(x[r * of.k + (i ^ 1)], weight.Code(i ^ 1, j), sum);
          total = std::fma(weight.Head(first, j), sum, total);
          if (format_ == WeightFormat::kInt8) continue;
          const float offset = weight.Head(first, j, 1) - weight.Head(first, j);
          total = std::fma(offset, GroupSum(x, r * of.k + first, r * of.k + end), total);
        }
      }
    }
    return c;
  }
};

TEST_P(MultiplyCodesTest, EveryElementIsTheChainOfTheContractForAllRowsAndPanels) {
  for (const int64_t k : {8, 32, 56, 64, 104, 192}) {
    for (const int64_t rows : {0, 1, 2, 3, 4, 5, 6, 7, 13, 31}) {
      for (const int64_t panels : {1, 2, 3, 4, 5, 7, 8}) {
        const Product of = {rows, panels, k};
        const CodedPanels weight(format_, k, panels, 3);
        const std::vector<float> x = Rounded(rows * k, 4), c(rows * 16 * panels, 0.5f);
        EXPECT_EQ(Multiply(x, weight, of, c, true), MultiplySimply(x, weight, of, c))
            << rows << " rows, " << panels << " panels, " << k << " inputs";
      }
    }
  }
}

TEST_P(MultiplyCodesTest, WithoutAccumulatingWhatWasThereIsForgotten) {
  for (const int64_t rows : {1, 9}) {
    const Product of = {rows, 3, 96};
    const CodedPanels weight(format_, of.k, of.panels, 5);
    const std::vector<float> x = Rounded(rows * of.k, 6), zeros(rows * 48), nans(rows * 48, NAN);
    EXPECT_EQ(Multiply(x, weight, of, nans, false), MultiplySimply(x, weight, of, zeros));
  }
}

TEST_P(MultiplyCodesTest, EveryCodeMeansItsNumber) {
  const int64_t k = 256;
  std::vector<char> panel(PanelBytes(format_, k));
  // Column 0 of int8 counts from -127 up; of int4, inputs count from 0 up, again and again.
  for (int64_t i = 0; i < k; ++i) {
    if (format_ == WeightFormat::kInt8) {
      char* group = panel.data() + i / 64 * PanelBytes(format_, 64);
      const float one = 1.0f;
      std::memcpy(group, &one, 4);
      group[64 + i % 64 * 16] = static_cast<char>(std::max<int64_t>(i - 128, -127));
    } else {
      char* group = panel.data() + i / 32 * PanelBytes(format_, 32);
      const uint16_t head[] = {ToBfloat16(16.0f), ToBfloat16(-3.0f)};
      std::memcpy(group, head, 4);
      uint32_t eight;
      std::memcpy(&eight, group + 64 + i % 32 / 8 * 64, 4);
      eight |= static_cast<uint32_t>(i % 16) << (16 * (i % 2) + 4 * (i % 8 / 2));
      std::memcpy(group + 64 + i % 32 / 8 * 64, &eight, 4);
    }
  }
  const char* start = panel.data();
  for (int64_t i = 0; i < k; ++i) {
    std::vector<float> x(k), c(16);
    x[i] = 1.0f;
    int64_t stride, sums_at;
    const std::vector<char> packed = Pack(x, {1, 1, k}, stride, sums_at);
    const MultiplyArgs args = {packed.data(), stride, 1, &start, 1, k, c.data(), 16, false};
    if (format_ == WeightFormat::kInt8) {
      kernels_.multiply_int8({args, nullptr});
      EXPECT_EQ(c[0], static_cast<float>(std::max<int64_t>(i - 128, -127)));
    } else {
      kernels_.multiply_int4({args, reinterpret_cast<const float*>(packed.data() + sums_at)});
      EXPECT_EQ(c[0], static_cast<float>(i % 16) - 3.0f);
    }
    EXPECT_EQ(c[1], 0.0f);
  }
}

INSTANTIATE_TEST_SUITE_P(AllIsas, MultiplyCodesTest,
                         testing::Combine(testing::ValuesIn(SupportedCpuIsas()),
                                          testing::Values(WeightFormat::kInt8,
                                                          WeightFormat::kInt4)),
                         [](const auto& info) {
                           return std::string(CpuIsaName(std::get<0>(info.param))) + "_" +
                                  WeightFormatName(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace affine
