// Compiled for one instruction set alone: see CMakeLists.txt. As AVX-512, with the linear layers'
// multiply on the processor's bfloat16 pairs.
#include <array>

#include "model/runtime/kernels_impl.h"

namespace affine {
namespace {

struct Bfloat16Pairs {
  static constexpr int kDepth = 2, kParts = 1;
  static constexpr int64_t kInputBytes = 2, kStepBytes = 2 * kPanelWidth * 2;
  static V Weight(const char* panel, int) {
    return Simd::Load(reinterpret_cast<const float*>(panel));
  }
  static V Input(const char* a, int) {
    int32_t pair;
    std::memcpy(&pair, a, sizeof(pair));
    return _mm512_castsi512_ps(_mm512_set1_epi32(pair));
  }
  static V Add(V sum, V x, V weight) {  // two fused multiply-adds, the pair's second first
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(weight));
  }
};

struct PairInputs {
  static constexpr int64_t kInputBytes = Bfloat16Pairs::kInputBytes;
  template <int kVector>
  static V Input(const char* x) {
    return Bfloat16Pairs::Input(x + 4 * kVector, 0);
  }
  static V Add(V sum, V x, V weight) { return Bfloat16Pairs::Add(sum, x, weight); }
};

/// Of the whole numbers below 128 as bfloat16, the low or the high bytes: two registers.
constexpr std::array<uint8_t, 128> WholeNumberBytes(int shift) {
  std::array<uint8_t, 128> bytes{};
  for (int n = 1, exponent = 0; n < 128; ++n) {
    if (n >> (exponent + 1) != 0) ++exponent;
    const int bits = ((127 + exponent) << 7) | ((n << (7 - exponent)) & 0x7f);
    bytes[n] = static_cast<uint8_t>(bits >> shift);
  }
  return bytes;
}
alignas(64) constexpr std::array<uint8_t, 128> kLowBytes = WholeNumberBytes(0);
alignas(64) constexpr std::array<uint8_t, 128> kHighBytes = WholeNumberBytes(8);

/// Where 16 pairs lie in two registers, one of 64 low and one of 64 high bytes: inputs `first` and
/// `first` + 1 of four, of 16 columns each.
constexpr std::array<uint8_t, 64> PairBytes(int first) {
  std::array<uint8_t, 64> from{};
  for (int column = 0; column < kPanelWidth; ++column) {
    for (int byte = 0; byte < 4; ++byte) {
      const int input = first + byte / 2, high = byte % 2;
      from[4 * column + byte] = static_cast<uint8_t>(64 * high + kPanelWidth * input + column);
    }
  }
  return from;
}
alignas(64) constexpr std::array<uint8_t, 64> kPairBytes[] = {PairBytes(0), PairBytes(2)};

/// Whole numbers are exact in bfloat16; their bytes are looked up.
struct Int8Pairs : PairInputs {
  using Head = Int8Head;
  struct Block {
    __m512i low, high;  // bytes of 4 inputs of 16 columns
  };
  static constexpr int64_t kBlock = 4, kBlockBytes = kBlock * kPanelWidth;
  static constexpr int kVectors = 2;
  static Block Load(const char* p) {
    const __m512i codes = _mm512_loadu_si512(p), sizes = _mm512_abs_epi8(codes);
    const auto look_up = [&](const std::array<uint8_t, 128>& bytes) {
      return _mm512_permutex2var_epi8(_mm512_load_si512(bytes.data()), sizes,
                                      _mm512_load_si512(bytes.data() + 64));
    };
    constexpr int kOrAnd = 0xf8;  // a | (b & c)
    const __m512i sign = _mm512_set1_epi8(static_cast<char>(0x80));
    return {look_up(kLowBytes),
            _mm512_ternarylogic_epi32(look_up(kHighBytes), codes, sign, kOrAnd)};
  }
  template <int kVector>
  static V Weight(const Block& block) {
    const __m512i from = _mm512_load_si512(kPairBytes[kVector].data());
    return _mm512_castsi512_ps(_mm512_permutex2var_epi8(block.low, from, block.high));
  }
};

/// Four bits become the first of a bfloat16's mantissa, under the exponent of 1.
struct Int4Pairs : PairInputs {
  using Head = Int4Head;
  using Block = __m512i;
  static constexpr int64_t kBlock = 8, kBlockBytes = kBlock * kPanelWidth / 2;
  static constexpr int kVectors = 4;
  static Block Load(const char* codes) { return _mm512_loadu_si512(codes); }
  template <int kVector>
  static V Weight(Block codes) {
    constexpr int kRight = 4 * kVector - 3;
    if constexpr (kRight < 0) codes = _mm512_slli_epi32(codes, -kRight);
    if constexpr (kRight > 0) codes = _mm512_srli_epi32(codes, kRight);
    constexpr int kAndOr = 0xea;  // (a & b) | c
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(codes, _mm512_set1_epi32(0x00780078),
                                                         _mm512_set1_epi32(0x3f803f80), kAndOr));
  }
};

void SumGroupsOfPairs(const void* packed, int64_t groups, float* sums) {
  const auto* x = static_cast<const uint16_t*>(packed);
  const auto load = [](const uint16_t* p) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  };
  for (int64_t g = 0; g < groups; ++g, x += kInt4Group)
    sums[g] = SumLanes(Simd::Add(load(x), load(x + kPanelWidth)));
}

void PackBf16Pairs(const float* x, int64_t n, void* packed) {
  auto* out = static_cast<uint16_t*>(packed);
  int64_t i = 0;
  for (; i + kPanelWidth <= n; i += kPanelWidth) {
    const __m256i bits = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(Simd::Load(x + i)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), bits);
  }
  if (i == n) return;
  const __m256bh bits = _mm512_cvtneps_pbh(LoadTail(x + i, n - i, 0.0f));
  std::memcpy(out + i, &bits, (n - i) * sizeof(*out));
}

constexpr Kernels WithPairs(Kernels table) {
  table.multiply_packed_bf16 = Multiply<Bfloat16Pairs>;
  table.multiply_int8 = MultiplyCodes<Int8Pairs>;
  table.multiply_int4 = MultiplyCodes<Int4Pairs>;
  table.sum_groups = SumGroupsOfPairs;
  table.pack_bf16 = PackBf16Pairs;
  table.packed_bf16_bytes = 2;
  return table;
}

}  // namespace

extern const Kernels kKernelsAvx512Bf16;
const Kernels kKernelsAvx512Bf16 = WithPairs(kTable);

}  // namespace affine
