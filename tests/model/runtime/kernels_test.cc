#include "model/runtime/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "model/runtime/bfloat16.h"

namespace affine {
namespace {

std::vector<float> Draw(size_t n, uint32_t seed, float scale = 1.0f) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> x(n);
  for (float& v : x) v = normal(engine);
  return x;
}

// Panels of a matrix [k, 16 * panels] in the layout of kernels.h, and the values they hold.
struct Panels {
  std::vector<char> bytes;
  std::vector<float> values;        // [k, 16 * panels]
  std::vector<const char*> starts;  // [panels]
};

Panels MakePanels(ElementType type, int64_t k, int64_t panels, uint32_t seed) {
  Panels made;
  made.values = Draw(k * kPanelWidth * panels, seed);
  const int64_t stride = k * kPanelWidth * ElementBytes(type);
  made.bytes.resize(stride * panels);
  for (int64_t p = 0; p < panels; ++p) made.starts.push_back(made.bytes.data() + p * stride);
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = 0; j < kPanelWidth * panels; ++j) {
      float& value = made.values[i * kPanelWidth * panels + j];
      char* panel = made.bytes.data() + j / kPanelWidth * stride;
      const int64_t column = j % kPanelWidth;
      if (type == ElementType::kFloat32) {
        std::memcpy(panel + 4 * (i * kPanelWidth + column), &value, 4);
      } else {
        const uint16_t bits = ToBfloat16(value);
        value = FromBfloat16(bits);
        std::memcpy(panel + 2 * (i / 2 * 2 * kPanelWidth + 2 * column + i % 2), &bits, 2);
      }
    }
  }
  return made;
}

// Of one number of a row, in the form that goes with panels of `type`.
int64_t InputBytes(const Kernels& kernels, ElementType type) {
  return type == ElementType::kFloat32 ? 4 : kernels.packed_bf16_bytes;
}

class KernelsTest : public testing::TestWithParam<CpuIsa> {
 protected:
  const Kernels& kernels_ = KernelsFor(GetParam());
  const Kernels& portable_ = KernelsFor(CpuIsa::kPortable);
};

// What a multiply is defined to be: the chain of fused multiply-adds of kernels.h, element by
// element.
void MultiplySimply(ElementType type, const std::vector<float>& a, int64_t rows,
                    const Panels& weight, int64_t k, std::vector<float>& c) {
  const auto width = static_cast<int64_t>(c.size()) / rows;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < width; ++j) {
      for (int64_t step = 0; step < k; ++step) {
        const int64_t i =
            type == ElementType::kFloat32 ? step : step ^ 1;  // the second of a pair first
        float& sum = c[r * width + j];
        sum = std::fma(a[r * k + i], weight.values[i * width + j], sum);
      }
    }
  }
}

// Rows [rows, k] in the form that goes with panels of `type`; `a` becomes the values they hold.
std::vector<char> PackRows(const Kernels& kernels, ElementType type, std::vector<float>& a,
                           int64_t k) {
  const int64_t rows = static_cast<int64_t>(a.size()) / k;
  const int64_t stride = k * InputBytes(kernels, type);
  std::vector<char> packed(rows * stride);
  if (type == ElementType::kFloat32) {
    std::memcpy(packed.data(), a.data(), packed.size());
    return packed;
  }
  for (int64_t r = 0; r < rows; ++r)
    kernels.pack_bf16(a.data() + r * k, k, packed.data() + r * stride);
  for (float& x : a) x = FromBfloat16(ToBfloat16(x));
  return packed;
}

TEST_P(KernelsTest, MultiplyIsOneChainOfFusedMultiplyAddsForAllRowsAndPanels) {
  constexpr int64_t kDepth = 38;
  for (ElementType type : {ElementType::kFloat32, ElementType::kBfloat16}) {
    for (int64_t rows : {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 29}) {
      for (int64_t panels : {1, 2, 3, 4, 5, 7, 9}) {
        const Panels weight = MakePanels(type, kDepth, panels, 7);
        std::vector<float> a = Draw(rows * kDepth, 8);
        const std::vector<char> packed = PackRows(kernels_, type, a, kDepth);
        const int64_t width = kPanelWidth * panels;
        std::vector<float> c(rows * width, 0.5f), expected = c;
        MultiplySimply(type, a, rows, weight, kDepth, expected);
        kernels_.multiply(type, {packed.data(), kDepth * InputBytes(kernels_, type), rows,
                                 weight.starts.data(), panels, kDepth, c.data(), width, true});
        EXPECT_EQ(c, expected) << rows << " rows, " << panels << " panels";
      }
    }
  }
}

TEST_P(KernelsTest, PackingRoundsTiesToEvenAndKeepsInfinityAndNaN) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {1.00390625f, 1.01171875f, -1.00390625f,
                                infinity,    -infinity,   std::numeric_limits<float>::quiet_NaN(),
                                3.4e38f};
  std::vector<char> packed(x.size() * kernels_.packed_bf16_bytes);
  kernels_.pack_bf16(x.data(), static_cast<int64_t>(x.size()), packed.data());
  for (size_t i = 0; i < x.size(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, packed.data() + i * kernels_.packed_bf16_bytes, kernels_.packed_bf16_bytes);
    const float rounded =
        FromBfloat16(static_cast<uint16_t>(kernels_.packed_bf16_bytes == 2 ? bits : bits >> 16));
    const float expected = FromBfloat16(ToBfloat16(x[i]));
    EXPECT_TRUE(rounded == expected || (std::isnan(rounded) && std::isnan(expected))) << x[i];
  }
}

TEST_P(KernelsTest, MultiplyCutIntoPartsOfTheDepthGivesTheSameBits) {
  constexpr int64_t kDepth = 48, kCut = 16, kRows = 7, kPanels = 5, kWidth = kPanels * kPanelWidth;
  for (ElementType type : {ElementType::kFloat32, ElementType::kBfloat16}) {
    const Panels weight = MakePanels(type, kDepth, kPanels, 3);
    std::vector<float> a = Draw(kRows * kDepth, 4);
    const std::vector<char> packed = PackRows(kernels_, type, a, kDepth);
    std::vector<const char*> cuts;  // [kDepth / kCut, kPanels]
    for (int64_t i = 0; i < kDepth; i += kCut) {
      for (const char* start : weight.starts) {
        cuts.push_back(start + i * kPanelWidth * ElementBytes(type));
      }
    }
    std::vector<float> whole(kRows * kWidth), in_calls(whole), in_one_call(whole);
    MultiplyArgs args = {packed.data(), kDepth * InputBytes(kernels_, type),
                         kRows,         weight.starts.data(),
                         kPanels,       kDepth,
                         whole.data(),  kWidth,
                         false};
    kernels_.multiply(type, args);

    args.k = kCut;
    args.panels = cuts.data();
    args.c = in_one_call.data();
    args.cuts = kDepth / kCut;
    args.cut_stride = kPanels;
    kernels_.multiply(type, args);
    EXPECT_EQ(in_one_call, whole);

    args.c = in_calls.data();
    args.cuts = 1;
    for (int64_t cut = 0; cut < kDepth / kCut; ++cut) {
      args.a = packed.data() + cut * kCut * InputBytes(kernels_, type);
      args.panels = cuts.data() + cut * kPanels;
      args.accumulate = cut > 0;
      kernels_.multiply(type, args);
    }
    EXPECT_EQ(in_calls, whole);
  }
}

TEST_P(KernelsTest, EveryKernelGivesTheBitsOfThePortableOne) {
  for (int64_t n : {1, 15, 16, 17, 100, 576}) {
    const std::vector<float> x = Draw(n, 1, 4.0f), y = Draw(n, 2);
    std::vector<float> a(n), b(n);
    kernels_.rms_norm(x.data(), y.data(), 1e-5f, n, a.data());
    portable_.rms_norm(x.data(), y.data(), 1e-5f, n, b.data());
    EXPECT_EQ(a, b);
    kernels_.silu_multiply(x.data(), y.data(), n, a.data());
    portable_.silu_multiply(x.data(), y.data(), n, b.data());
    EXPECT_EQ(a, b);
    a = b = x;
    kernels_.sigmoid(a.data(), n);
    portable_.sigmoid(b.data(), n);
    EXPECT_EQ(a, b);
    a = b = x;
    EXPECT_EQ(kernels_.exp_sum(a.data(), n, 0.3f, 1.7f),
              portable_.exp_sum(b.data(), n, 0.3f, 1.7f));
    EXPECT_EQ(a, b);
    EXPECT_EQ(kernels_.max(x.data(), n), portable_.max(x.data(), n));
    a = b = x;
    kernels_.scale_add(0.7f, y.data(), n, a.data());
    portable_.scale_add(0.7f, y.data(), n, b.data());
    EXPECT_EQ(a, b);
  }
}

TEST_P(KernelsTest, ExponentialsAreWithinThreeUlp) {
  std::vector<float> x;
  for (float v = -87.0f; v < 88.0f; v += 0.0137f) x.push_back(v);
  std::vector<float> y = x;
  kernels_.exp_sum(y.data(), static_cast<int64_t>(y.size()), 0.0f, 1.0f);
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(static_cast<double>(x[i]));
    EXPECT_NEAR(y[i] / exact, 1.0, 3 * 1.2e-7) << x[i];
  }
}

TEST_P(KernelsTest, MaskedScoresWeighExactlyNothing) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0.0f, -infinity, -200.0f, 0.0f};
  EXPECT_EQ(kernels_.exp_sum(x.data(), 4, 0.0f, 1.0f), 2.0f);
  EXPECT_EQ(x, (std::vector<float>{1.0f, 0.0f, 0.0f, 1.0f}));
}

TEST_P(KernelsTest, NaNIsNeitherHiddenByExponentialsNorTakenForFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t at : {0, 5, 16, 18}) {
    std::vector<float> x(19, 1.0f);
    EXPECT_TRUE(kernels_.all_finite(x.data(), 19));
    x[at] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(kernels_.all_finite(x.data(), 19));
    x[at] = nan;
    EXPECT_FALSE(kernels_.all_finite(x.data(), 19));
    EXPECT_TRUE(std::isnan(kernels_.exp_sum(x.data(), 19, 0.0f, 1.0f)));
  }
}

TEST_P(KernelsTest, RmsNormAgreesWithDoublePrecision) {
  const std::vector<float> x = Draw(333, 5), weight = Draw(333, 6);
  double squares = 0.0;
  for (float v : x) squares += static_cast<double>(v) * v;
  std::vector<float> out(333);
  kernels_.rms_norm(x.data(), weight.data(), 1e-5f, 333, out.data());
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(out[i], x[i] / std::sqrt(squares / 333 + 1e-5) * weight[i], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(AllIsas, KernelsTest, testing::ValuesIn(SupportedCpuIsas()),
                         [](const auto& info) { return std::string(CpuIsaName(info.param)); });

}  // namespace
}  // namespace affine
