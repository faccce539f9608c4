// The kernels' one source, compiled once for each instruction set. See kernels.h and simd.h.
#pragma once

#include <algorithm>
#include <limits>

#include "model/runtime/kernels.h"
#include "model/runtime/simd.h"

namespace affine {
namespace {

struct Float32Panel {
  static constexpr int kRowsPerStep = 1;
  static constexpr int64_t kRowBytes = kPanelWidth * 4;
  static V Row(const char* p, int) { return Simd::Load(reinterpret_cast<const float*>(p)); }
};

struct Bfloat16Panel {
  static constexpr int kRowsPerStep = 2;
  static constexpr int64_t kRowBytes = kPanelWidth * 2;
  static V Row(const char* p, int of_pair) {
    const auto* pairs = reinterpret_cast<const uint16_t*>(p);
    return of_pair == 0 ? Simd::FirstBf16(pairs) : Simd::SecondBf16(pairs);
  }
};

template <typename Panel, int kRows, int kPanels>
void MultiplyTile(const TileArgs& args) {
  V sum[kRows][kPanels];
  for (int r = 0; r < kRows; ++r) {
    for (int p = 0; p < kPanels; ++p) {
      sum[r][p] = args.accumulate ? Simd::Load(args.c + r * args.c_stride + p * kPanelWidth) : Simd::Zero();
    }
  }
  const char* panel = static_cast<const char*>(args.panel);
  const float* a = args.a;
  for (int64_t i = 0; i < args.k; i += Panel::kRowsPerStep) {
#pragma GCC unroll 2
    for (int of_step = 0; of_step < Panel::kRowsPerStep; ++of_step) {
      // Panel by panel: two weight registers live at a time, and all the others hold sums.
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; ++p) {
        const V weight = Panel::Row(panel + p * args.panel_stride, of_step);
        const float* x = a;
        asm volatile("" : "+r"(x));  // read again for each panel: kept, they would push sums out of registers
#pragma GCC unroll 6
        for (int r = 0; r < kRows; ++r) {
          sum[r][p] = Simd::Fma(Simd::Set(x[r * args.a_stride + i + of_step]), weight, sum[r][p]);
        }
      }
    }
    panel += Panel::kRowsPerStep * Panel::kRowBytes;
  }
  for (int r = 0; r < kRows; ++r) {
    for (int p = 0; p < kPanels; ++p) Simd::Store(args.c + r * args.c_stride + p * kPanelWidth, sum[r][p]);
  }
}

template <typename Panel>
void Multiply(const TileArgs& args) {
  switch (args.rows * 8 + args.panels) {
    case 1 * 8 + 1: return MultiplyTile<Panel, 1, 1>(args);
    case 1 * 8 + 2: return MultiplyTile<Panel, 1, 2>(args);
    case 1 * 8 + 3: return MultiplyTile<Panel, 1, 3>(args);
    case 1 * 8 + 4: return MultiplyTile<Panel, 1, 4>(args);
    case 2 * 8 + 1: return MultiplyTile<Panel, 2, 1>(args);
    case 2 * 8 + 2: return MultiplyTile<Panel, 2, 2>(args);
    case 2 * 8 + 3: return MultiplyTile<Panel, 2, 3>(args);
    case 3 * 8 + 1: return MultiplyTile<Panel, 3, 1>(args);
    case 3 * 8 + 2: return MultiplyTile<Panel, 3, 2>(args);
    case 4 * 8 + 1: return MultiplyTile<Panel, 4, 1>(args);
    case 5 * 8 + 1: return MultiplyTile<Panel, 5, 1>(args);
    case 6 * 8 + 1: return MultiplyTile<Panel, 6, 1>(args);
  }
  __builtin_unreachable();  // kernels.h bounds rows and panels
}

/// The last n < 16 numbers of a vector, the other lanes `fill`.
V LoadTail(const float* p, int64_t n, float fill) {
  float x[kPanelWidth];
  std::fill(std::copy(p, p + n, x), x + kPanelWidth, fill);
  return Simd::Load(x);
}

void StoreTail(float* p, int64_t n, V v) {
  float x[kPanelWidth];
  Simd::Store(x, v);
  std::copy(x, x + n, p);
}

/// Calls body(offset, load) over [0, n) in steps of 16; load(p, fill) reads a vector of the step.
/// `out` may be null; else body's result is stored there.
template <typename Body>
void ForVectors(int64_t n, float* out, Body body) {
  int64_t i = 0;
  const auto whole = [](const float* p, float) { return Simd::Load(p); };
  for (; i + kPanelWidth <= n; i += kPanelWidth) {
    const V v = body(i, whole);
    if (out != nullptr) Simd::Store(out + i, v);
  }
  if (i == n) return;
  const int64_t left = n - i;
  const V v = body(i, [left](const float* p, float fill) { return LoadTail(p, left, fill); });
  if (out != nullptr) StoreTail(out + i, left, v);
}

void RmsNorm(const float* x, const float* weight, float eps, int64_t n, float* out) {
  V squares = Simd::Zero();
  ForVectors(n, nullptr, [&](int64_t i, auto load) {
    const V v = load(x + i, 0.0f);
    return squares = Simd::Fma(v, v, squares);
  });
  const V scale = Simd::Set(1.0f / std::sqrt(SumLanes(squares) / static_cast<float>(n) + eps));
  ForVectors(n, out, [&](int64_t i, auto load) {
    return Simd::Mul(Simd::Mul(load(x + i, 0.0f), scale), load(weight + i, 0.0f));
  });
}

void SiluMultiply(const float* gate, const float* up, int64_t n, float* out) {
  ForVectors(n, out, [&](int64_t i, auto load) {
    const V g = load(gate + i, 0.0f);
    return Simd::Mul(Simd::Mul(g, Sigmoid(g)), load(up + i, 0.0f));
  });
}

void SigmoidInPlace(float* x, int64_t n) {
  ForVectors(n, x, [&](int64_t i, auto load) { return Sigmoid(load(x + i, 0.0f)); });
}

void AddTo(const float* x, int64_t n, float* y) {
  ForVectors(n, y, [&](int64_t i, auto load) {
    return Simd::Add(load(y + i, 0.0f), load(x + i, 0.0f));
  });
}

void ScaleAdd(float scale, const float* x, int64_t n, float* y) {
  const V s = Simd::Set(scale);
  ForVectors(n, y, [&](int64_t i, auto load) {
    return Simd::Fma(s, load(y + i, 0.0f), load(x + i, 0.0f));
  });
}

void Scale(float scale, int64_t n, float* y) {
  const V s = Simd::Set(scale);
  ForVectors(n, y, [&](int64_t i, auto load) { return Simd::Mul(s, load(y + i, 0.0f)); });
}

float MaxOf(const float* x, int64_t n) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  V best = Simd::Set(kLowest);
  ForVectors(n, nullptr, [&](int64_t i, auto load) {
    return best = Simd::Max(load(x + i, kLowest), best);
  });
  return MaxLanes(best);
}

float ExpSum(float* x, int64_t n, float shift, float scale) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const V by = Simd::Set(scale), from = Simd::Set(shift);
  V sum = Simd::Zero();
  ForVectors(n, x, [&](int64_t i, auto load) {
    const V e = Exp(Simd::Mul(by, Simd::Sub(load(x + i, kLowest), from)));
    sum = Simd::Add(sum, e);
    return e;
  });
  return SumLanes(sum);
}

bool AllFinite(const float* x, int64_t n) {
  V bad = Simd::Zero();  // x - x is 0 for finite numbers and NaN for all others, which stays
  ForVectors(n, nullptr, [&](int64_t i, auto load) {
    const V v = load(x + i, 0.0f);
    return bad = Simd::Add(bad, Simd::Sub(v, v));
  });
  return SumLanes(bad) == 0.0f;
}

constexpr Kernels kTable = {
    .multiply_f32 = Multiply<Float32Panel>,
    .multiply_bf16 = Multiply<Bfloat16Panel>,
    .rms_norm = RmsNorm,
    .silu_multiply = SiluMultiply,
    .sigmoid = SigmoidInPlace,
    .add = AddTo,
    .scale_add = ScaleAdd,
    .scale = Scale,
    .max = MaxOf,
    .exp_sum = ExpSum,
    .all_finite = AllFinite,
};

}  // namespace
}  // namespace affine
