// Compiled for one instruction set alone: see CMakeLists.txt. As AVX-512, with the linear layers'
// multiply on the processor's bfloat16 pairs.
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
  table.pack_bf16 = PackBf16Pairs;
  table.packed_bf16_bytes = 2;
  return table;
}

}  // namespace

extern const Kernels kKernelsAvx512Bf16;
const Kernels kKernelsAvx512Bf16 = WithPairs(kTable);

}  // namespace affine
