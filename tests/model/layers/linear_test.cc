#include "model/layers/linear.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/model/layers/simple_quantised.h"
#include "tests/support/tensor_source.h"

namespace affine {
namespace {

class LinearTest : public testing::TestWithParam<WeightFormat> {
 protected:
  std::vector<float> Run(const Linear& linear, const std::vector<float>& x, int64_t rows,
                         CpuIsa isa = DetectCpuIsa(), int threads = 2) {
    WorkerTeam team(threads);
    std::vector<float> y(rows * linear.padded_out_features());
    linear.Forward({Pack(x, rows, isa), rows, y.data(), linear.padded_out_features()},
                   KernelsFor(isa), team);
    return y;
  }

  static PackedRows Pack(const std::vector<float>& x, int64_t rows, CpuIsa isa) {
    const auto width = static_cast<int64_t>(x.size()) / rows;
    PackedRows packed(KernelsFor(isa), GetParam(), rows, width);
    for (int64_t r = 0; r < rows; ++r) packed.Set(r, x.data() + r * width, width);
    return packed;
  }

  WorkerTeam team_{2};
};

TEST_P(LinearTest, AgreesWithTorchInDoublePrecision) {
  const int64_t in = 47, out = 37, rows = 11;  // an odd depth: bfloat16 is stored in pairs
  const TensorSource weight = TensorSource::Random({out, in}, 1),
                     bias = TensorSource::Random({out}, 2);
  const TensorSource x = TensorSource::Random({rows, in}, 3);
  Linear linear(in, out, GetParam());
  linear.SetWeight(0, weight.view(), team_);
  linear.SetBias(0, bias.view());
  const std::vector<float> y = Run(linear, x.values(), rows);

  const auto tensor = [](const TensorSource& source, at::IntArrayRef shape) {
    return at::tensor(source.values()).view(shape);
  };
  at::Tensor w = tensor(weight, {out, in}), inputs = tensor(x, {rows, in});
  if (GetParam() != WeightFormat::kFloat32) inputs = inputs.to(at::kBFloat16);
  if (GetParam() == WeightFormat::kBfloat16) w = w.to(at::kBFloat16);
  if (HasCodes(GetParam())) {
    w = at::tensor(SimpleQuantised(GetParam(), weight.values(), in).Values()).view({out, in});
  }
  const at::Tensor expected =
      at::linear(inputs.to(at::kDouble), w.to(at::kDouble), tensor(bias, {out}).to(at::kDouble));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < out; ++j) {
      EXPECT_NEAR(y[r * linear.padded_out_features() + j], expected[r][j].item<double>(), 1e-4);
    }
  }
}

TEST_P(LinearTest, ARowsBitsDependOnNothingBesideIt) {
  const int64_t in = 64, out = 200, most = 201;
  const TensorSource weight = TensorSource::Random({out, in}, 1),
                     x = TensorSource::Random({most, in}, 3);
  Linear linear(in, out, GetParam());
  linear.SetWeight(0, weight.view(), team_);
  const std::vector<float> reference = Run(linear, x.values(), most);
  for (int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 13, 32, 64, 96, 97, 200}) {
    for (int threads : {1, 2, 3}) {
      const std::vector<float> some(x.values().begin(), x.values().begin() + rows * in);
      const std::vector<float> y = Run(linear, some, rows, DetectCpuIsa(), threads);
      EXPECT_TRUE(std::equal(y.begin(), y.end(), reference.begin())) << rows << " rows";
    }
  }
}

TEST_P(LinearTest, EveryInstructionSetGivesTheSameBits) {
  const TensorSource weight = TensorSource::Random({40, 32}, 1),
                     x = TensorSource::Random({9, 32}, 3);
  Linear linear(32, 40, GetParam());
  linear.SetWeight(0, weight.view(), team_);
  const std::vector<float> reference = Run(linear, x.values(), 9, CpuIsa::kPortable);
  for (CpuIsa isa : SupportedCpuIsas()) EXPECT_EQ(Run(linear, x.values(), 9, isa), reference);
}

TEST_P(LinearTest, FusedPartsEqualSeparateLayers) {
  const TensorSource first = TensorSource::Random({20, 32}, 1),
                     second = TensorSource::Random({16, 32}, 2);
  const TensorSource x = TensorSource::Random({5, 32}, 3), bias = TensorSource::Random({16}, 4);
  Linear fused(32, 48, GetParam()), alone(32, 16, GetParam());
  fused.SetWeight(0, first.view(), team_);
  fused.SetWeight(32, second.view(), team_);
  fused.SetBias(32, bias.view());
  alone.SetWeight(0, second.view(), team_);
  alone.SetBias(0, bias.view());
  const std::vector<float> both = Run(fused, x.values(), 5), one = Run(alone, x.values(), 5);
  for (int64_t r = 0; r < 5; ++r) {
    for (int64_t j = 0; j < 16; ++j) EXPECT_EQ(both[r * 48 + 32 + j], one[r * 16 + j]);
    for (int64_t j = 20; j < 32; ++j) EXPECT_EQ(both[r * 48 + j], 0.0f);
  }
}

TEST_P(LinearTest, AccumulatesOntoAResidual) {
  const TensorSource weight = TensorSource::Random({16, 32}, 1),
                     x = TensorSource::Random({3, 32}, 3);
  const TensorSource bias = TensorSource::Random({16}, 4);
  Linear linear(32, 16, GetParam());
  linear.SetWeight(0, weight.view(), team_);
  linear.SetBias(0, bias.view());
  const std::vector<float> plain = Run(linear, x.values(), 3);
  std::vector<float> y(3 * 16, 2.0f);
  const PackedRows packed = Pack(x.values(), 3, DetectCpuIsa());
  linear.Forward({packed, 3, y.data(), 16, true}, KernelsFor(DetectCpuIsa()), team_);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], plain[i] + 2.0f, 1e-5);
}

class QuantisedLinearTest : public LinearTest {};

TEST_P(QuantisedLinearTest, GivesTheBitsOfTheSimpleChainForOddSizesToo) {
  for (const int64_t in : {1, 7, 31, 47, 64, 96, 130, 576}) {
    const int64_t out = 150, rows = 9;
    const TensorSource weight = TensorSource::Random({out, in}, 1, 0.1f),
                       x = TensorSource::Random({rows, in}, 3),
                       bias = TensorSource::Random({out}, 2);
    Linear linear(in, out, GetParam());
    linear.SetWeight(0, weight.view(), team_);
    linear.SetBias(0, bias.view());
    const SimpleQuantised simple(GetParam(), weight.values(), in);
    for (CpuIsa isa : SupportedCpuIsas()) {
      for (const int64_t some : {int64_t{1}, rows}) {
        const std::vector<float> first(x.values().begin(), x.values().begin() + some * in);
        const std::vector<float> y = Run(linear, first, some, isa);
        for (int64_t r = 0; r < some; ++r) {
          for (int64_t j = 0; j < out; ++j) {
            EXPECT_EQ(y[r * linear.padded_out_features() + j],
                      simple.Multiply(first.data() + r * in, j, bias.values()[j]))
                << in << " inputs, row " << r << " of " << some << ", column " << j;
          }
        }
      }
    }
  }
}

TEST_P(LinearTest, ColumnsFromOneOnCanStayBfloat16) {
  const int64_t in = 40;
  const TensorSource first = TensorSource::Random({32, in}, 1),
                     second = TensorSource::Random({20, in}, 2),
                     x = TensorSource::Random({7, in}, 3);
  Linear mixed(in, 52, GetParam(), 32), coded(in, 32, GetParam());
  const bool floats = GetParam() == WeightFormat::kFloat32;
  Linear plain(in, 20, floats ? WeightFormat::kFloat32 : WeightFormat::kBfloat16);
  mixed.SetWeight(0, first.view(), team_);
  mixed.SetWeight(32, second.view(), team_);
  coded.SetWeight(0, first.view(), team_);
  plain.SetWeight(0, second.view(), team_);
  EXPECT_EQ(mixed.bytes(), coded.bytes() + plain.bytes());
  const std::vector<float> both = Run(mixed, x.values(), 7), left = Run(coded, x.values(), 7);
  std::vector<float> right(7 * 32);
  PackedRows rows(KernelsFor(DetectCpuIsa()),
                  floats ? WeightFormat::kFloat32 : WeightFormat::kBfloat16, 7, in);
  for (int64_t r = 0; r < 7; ++r) rows.Set(r, x.values().data() + r * in, in);
  plain.Forward({rows, 7, right.data(), 32}, KernelsFor(DetectCpuIsa()), team_);
  for (int64_t r = 0; r < 7; ++r) {
    for (int64_t j = 0; j < 32; ++j) {
      EXPECT_EQ(both[r * 64 + j], left[r * 32 + j]);
      EXPECT_EQ(both[r * 64 + 32 + j], right[r * 32 + j]);
    }
  }
}

constexpr auto kName = [](const auto& info) { return std::string(WeightFormatName(info.param)); };
INSTANTIATE_TEST_SUITE_P(Formats, LinearTest,
                         testing::Values(WeightFormat::kFloat32, WeightFormat::kBfloat16,
                                         WeightFormat::kInt8, WeightFormat::kInt4),
                         kName);
INSTANTIATE_TEST_SUITE_P(Formats, QuantisedLinearTest,
                         testing::Values(WeightFormat::kInt8, WeightFormat::kInt4), kName);

}  // namespace
}  // namespace affine
