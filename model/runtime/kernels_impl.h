// The kernels' one source, compiled once for each instruction set. See kernels.h and simd.h.
#pragma once

#include <algorithm>
#include <limits>

#include "model/runtime/kernels.h"
#include "model/runtime/multiply_codes_impl.h"
#include "model/runtime/multiply_impl.h"
#include "model/runtime/simd.h"

namespace affine {
namespace {

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
  ForVectors(n, y,
             [&](int64_t i, auto load) { return Simd::Add(load(y + i, 0.0f), load(x + i, 0.0f)); });
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
  ForVectors(n, nullptr,
             [&](int64_t i, auto load) { return best = Simd::Max(load(x + i, kLowest), best); });
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

void PackBf16(const float* x, int64_t n, void* packed) {
  auto* out = static_cast<float*>(packed);
  ForVectors(n, out, [&](int64_t i, auto load) { return Simd::RoundToBf16(load(x + i, 0.0f)); });
}

constexpr Kernels kTable = {
    .multiply_f32 = Multiply<Float32Panels>,
    .multiply_packed_bf16 = Multiply<Bfloat16Panels>,
    .multiply_int8 = MultiplyCodes<Int8Floats>,
    .multiply_int4 = MultiplyCodes<Int4Floats>,
    .sum_groups = SumGroups,
    .pack_bf16 = PackBf16,
    .packed_bf16_bytes = 4,
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
