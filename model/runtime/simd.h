// Vectors of 16 floats, once for each instruction set, with the same result in every bit.
//
// Seen only by the files that are compiled for one instruction set (kernels_avx2.cc and so on).
// Each set is a struct with the same static functions; kernels are templates over it. Everything
// lies in an unnamed namespace, so that no function compiled for a newer set can be linked into
// another.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "model/runtime/bfloat16.h"

namespace affine {
namespace {

// Four bits as the first of a float32's mantissa, under the exponent of 1.
constexpr int kInt4Bit = 19, kInt4Mask = 15 << kInt4Bit, kInt4One = 0x3f800000;

#if defined(__AVX512F__)

struct Simd {
  using V = __m512;
  // Registers for the sums of a tile, and whether as many more hold a step's weights.
  static constexpr int MaxTilePanels(int) { return 4; }
  static constexpr bool kHoldsWeights = true;
  static V Zero() { return _mm512_setzero_ps(); }
  static V Set(float x) { return _mm512_set1_ps(x); }
  static V Load(const float* p) { return _mm512_loadu_ps(p); }
  static void Store(float* p, V v) { _mm512_storeu_ps(p, v); }
  static V Add(V a, V b) { return _mm512_add_ps(a, b); }
  static V Sub(V a, V b) { return _mm512_sub_ps(a, b); }
  static V Mul(V a, V b) { return _mm512_mul_ps(a, b); }
  static V Div(V a, V b) { return _mm512_div_ps(a, b); }
  static V Max(V a, V b) { return _mm512_max_ps(a, b); }
  static V Fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V Round(V a) { return _mm512_roundscale_ps(a, 8); }
  static V Pow2(V n) {  // n whole, in [-126, 127]
    const __m512i e = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(e, 23));
  }
  static V ZeroWhereLess(V x, V bound, V value) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, bound, _CMP_NLT_UQ), value);
  }
  // To the nearest bfloat16, ties to even; NaN stays NaN.
  static V RoundToBf16(V x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    const __m512i mask = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_mask_mov_epi32(up, is_nan, quiet), mask));
  }
  // 16 pairs of bfloat16: the first of each pair, the second of each pair.
  static V FirstBf16(const uint16_t* p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(p), 16));
  }
  static V SecondBf16(const uint16_t* p) {
    return _mm512_castsi512_ps(
        _mm512_and_si512(_mm512_loadu_si512(p), _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
  }
  // 16 codes of a signed byte; what 16 codes of four bits at bit kBit of each word say: 1 + q / 16.
  static V FromInt8(const int8_t* p) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  template <int kBit>
  static V FromInt4(const uint32_t* p) {
    __m512i bits = _mm512_loadu_si512(p);
    if constexpr (kBit < kInt4Bit) bits = _mm512_slli_epi32(bits, kInt4Bit - kBit);
    if constexpr (kBit > kInt4Bit) bits = _mm512_srli_epi32(bits, kBit - kInt4Bit);
    constexpr int kAndOr = 0xea;  // (a & b) | c
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(bits, _mm512_set1_epi32(kInt4Mask),
                                                         _mm512_set1_epi32(kInt4One), kAndOr));
  }
};

#elif defined(__AVX2__)

struct Simd {
  struct V {
    __m256 lo, hi;
  };
  // Of 16 registers, 12 hold sums.
  static constexpr int MaxTilePanels(int rows) {
    return rows == 1 ? 4 : rows == 2 ? 3 : rows == 3 ? 2 : 1;
  }
  static constexpr bool kHoldsWeights = false;
  static V Zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static V Set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static V Load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static void Store(float* p, V v) {
    _mm256_storeu_ps(p, v.lo);
    _mm256_storeu_ps(p + 8, v.hi);
  }
  static V Add(V a, V b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
  static V Sub(V a, V b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
  static V Mul(V a, V b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
  static V Div(V a, V b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
  static V Max(V a, V b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
  static V Fma(V a, V b, V c) {
    return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
  }
  static V Round(V a) { return {_mm256_round_ps(a.lo, 8), _mm256_round_ps(a.hi, 8)}; }
  static V Pow2(V n) { return {Pow2Half(n.lo), Pow2Half(n.hi)}; }
  static V ZeroWhereLess(V x, V bound, V value) {
    return {_mm256_and_ps(_mm256_cmp_ps(x.lo, bound.lo, _CMP_NLT_UQ), value.lo),
            _mm256_and_ps(_mm256_cmp_ps(x.hi, bound.hi, _CMP_NLT_UQ), value.hi)};
  }
  static V RoundToBf16(V v) { return {RoundHalf(v.lo), RoundHalf(v.hi)}; }
  static V FirstBf16(const uint16_t* p) { return {FirstHalf(p), FirstHalf(p + 16)}; }
  static V SecondBf16(const uint16_t* p) { return {SecondHalf(p), SecondHalf(p + 16)}; }
  static V FromInt8(const int8_t* p) { return {Int8Half(p), Int8Half(p + 8)}; }
  template <int kBit>
  static V FromInt4(const uint32_t* p) {
    return {Int4Half<kBit>(p), Int4Half<kBit>(p + 8)};
  }

 private:
  static __m256 Int8Half(const int8_t* p) {
    return _mm256_cvtepi32_ps(
        _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  template <int kBit>
  static __m256 Int4Half(const uint32_t* p) {
    __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    if constexpr (kBit < kInt4Bit) bits = _mm256_slli_epi32(bits, kInt4Bit - kBit);
    if constexpr (kBit > kInt4Bit) bits = _mm256_srli_epi32(bits, kBit - kInt4Bit);
    bits = _mm256_and_si256(bits, _mm256_set1_epi32(kInt4Mask));
    return _mm256_castsi256_ps(_mm256_or_si256(bits, _mm256_set1_epi32(kInt4One)));
  }
  static __m256 Pow2Half(__m256 n) {  // n whole, in [-126, 127]
    const __m256i e = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(e, 23));
  }
  static __m256 RoundHalf(__m256 x) {  // as RoundToBf16 of 16
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256 is_nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    const __m256 rounded =
        _mm256_blendv_ps(_mm256_castsi256_ps(up), _mm256_castsi256_ps(quiet), is_nan);
    return _mm256_and_ps(rounded,
                         _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(0xffff0000u))));
  }
  static __m256i LoadPairs(const uint16_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static __m256 FirstHalf(const uint16_t* p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(LoadPairs(p), 16));
  }
  static __m256 SecondHalf(const uint16_t* p) {
    const __m256i mask = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
    return _mm256_castsi256_ps(_mm256_and_si256(LoadPairs(p), mask));
  }
};

#else

struct Simd {
  struct V {
    float x[16];
  };
  static constexpr int MaxTilePanels(int) { return 1; }
  static constexpr bool kHoldsWeights = false;
  template <typename F>
  static V Each(F f) {
    V v;
    for (int i = 0; i < 16; ++i) v.x[i] = f(i);
    return v;
  }
  static V Zero() { return Set(0.0f); }
  static V Set(float x) {
    return Each([&](int) { return x; });
  }
  static V Load(const float* p) {
    V v;
    std::memcpy(v.x, p, sizeof(v.x));
    return v;
  }
  static void Store(float* p, const V& v) { std::memcpy(p, v.x, sizeof(v.x)); }
  static V Add(const V& a, const V& b) {
    return Each([&](int i) { return a.x[i] + b.x[i]; });
  }
  static V Sub(const V& a, const V& b) {
    return Each([&](int i) { return a.x[i] - b.x[i]; });
  }
  static V Mul(const V& a, const V& b) {
    return Each([&](int i) { return a.x[i] * b.x[i]; });
  }
  static V Div(const V& a, const V& b) {
    return Each([&](int i) { return a.x[i] / b.x[i]; });
  }
  // As the vector instruction: the second operand if either is NaN.
  static V Max(const V& a, const V& b) {
    return Each([&](int i) { return a.x[i] > b.x[i] ? a.x[i] : b.x[i]; });
  }
  static V Fma(const V& a, const V& b, const V& c) {
    return Each([&](int i) { return std::fma(a.x[i], b.x[i], c.x[i]); });
  }
  static V Round(const V& a) {
    return Each([&](int i) { return std::nearbyint(a.x[i]); });
  }
  static V Pow2(const V& n) {  // n whole, in [-126, 127]
    return Each([&](int i) {
      return std::isnan(n.x[i]) ? n.x[i] : std::ldexp(1.0f, static_cast<int>(n.x[i]));
    });
  }
  static V ZeroWhereLess(const V& x, const V& bound, const V& value) {
    return Each([&](int i) { return x.x[i] < bound.x[i] ? 0.0f : value.x[i]; });
  }
  static V RoundToBf16(const V& x) {
    return Each([&](int i) { return FromBfloat16(ToBfloat16(x.x[i])); });
  }
  static V FirstBf16(const uint16_t* p) {
    return Each([&](int i) { return FromBfloat16(p[2 * i]); });
  }
  static V SecondBf16(const uint16_t* p) {
    return Each([&](int i) { return FromBfloat16(p[2 * i + 1]); });
  }
  static V FromInt8(const int8_t* p) {
    return Each([&](int i) { return static_cast<float>(p[i]); });
  }
  template <int kBit>
  static V FromInt4(const uint32_t* p) {
    return Each([&](int i) { return 1.0f + static_cast<float>((p[i] >> kBit) & 15u) / 16.0f; });
  }
};

#endif

using V = Simd::V;

/// The 16 numbers added as a fixed tree: halves, quarters, eighths, sixteenths.
inline float SumLanes(V v) {
  float x[16];
  Simd::Store(x, v);
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) x[i] += x[i + width];
  }
  return x[0];
}

inline float MaxLanes(V v) {
  float x[16];
  Simd::Store(x, v);
  float best = x[0];
  for (int i = 1; i < 16; ++i) best = x[i] > best ? x[i] : best;
  return best;
}

/// exp(x) within 2 ulp for x in [-87, 88]; exactly 0 below -87.3, -infinity included; NaN stays
/// NaN.
inline V Exp(V x) {
  const V low = Simd::Set(-87.33654f);
  const V clamped =
      Simd::Sub(Simd::Zero(), Simd::Max(Simd::Set(-88.37f), Simd::Sub(Simd::Zero(), x)));
  const V n = Simd::Round(Simd::Mul(Simd::Max(low, clamped), Simd::Set(1.442695041f)));
  // ln 2 in two parts: x - n ln 2 without loss.
  V r = Simd::Fma(n, Simd::Set(-0.693359375f), Simd::Max(low, clamped));
  r = Simd::Fma(n, Simd::Set(2.12194440e-4f), r);
  V p = Simd::Set(1.9875691500e-4f);
  for (float c :
       {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f}) {
    p = Simd::Fma(p, r, Simd::Set(c));
  }
  p = Simd::Add(Simd::Fma(p, Simd::Mul(r, r), r), Simd::Set(1.0f));
  return Simd::ZeroWhereLess(x, low, Simd::Mul(p, Simd::Pow2(n)));
}

/// 1 / (1 + exp(-x)).
inline V Sigmoid(V x) {
  const V one = Simd::Set(1.0f);
  return Simd::Div(one, Simd::Add(one, Exp(Simd::Sub(Simd::Zero(), x))));
}

}  // namespace
}  // namespace affine
