// The arithmetic that a step is made of, behind one table for each instruction set.
#pragma once

#include <cstdint>

#include "model/runtime/cpu_isa.h"

namespace affine {

/// How weights and cache entries are stored. All arithmetic is float32.
enum class ElementType { kFloat32, kBfloat16 };

inline constexpr int64_t ElementBytes(ElementType type) {
  return type == ElementType::kFloat32 ? 4 : 2;
}

/// Columns of a panel: a matrix [k, 16] stored so that one multiply step reads it in order.
/// float32: [k, 16]. bfloat16: [k / 2, 16, 2], rows in pairs, k even.
inline constexpr int64_t kPanelWidth = 16;

/// `n` columns as whole panels: what a multiply writes, and so the least stride of what it writes
/// to.
inline constexpr int64_t PaddedWidth(int64_t n) {
  return (n + kPanelWidth - 1) / kPanelWidth * kPanelWidth;
}

/// c[r, 16 p + j] (+)= sum over i of a[r, i] * panel_p[i, j], for all rows and panels.
/// Each element is one chain of fused multiply-adds, started from 0 or from c: over i in ascending
/// order for float32 panels; for bfloat16 panels over pairs of i in ascending order, of each pair
/// the second first, which is what the processor's own instruction does. So the bits are the same
/// for any rows and panels beside it, and for any cut of i, between pairs, into several calls or
/// into `cuts` of one call, each with panels of its own.
struct MultiplyArgs {
  const void* a;     // [rows, cuts * k]: float32, or packed rows (see Kernels::pack_bf16)
  int64_t a_stride;  // from row to row, in bytes
  int64_t rows;
  const char* const* panels;  // [cuts, num_panels]: where each panel starts
  int64_t num_panels;
  int64_t k;         // depth of a panel, even for bfloat16
  float* c;          // [rows, 16 * num_panels], row r at c + r * c_stride
  int64_t c_stride;  // in floats
  bool accumulate;   // start from c rather than from 0
  int64_t cuts = 1;
  int64_t cut_stride = 0;  // in `panels`, from cut to cut
};

/// c[r, 16 p + j] (+)= a[r] times column j of panel p, a panel of codes q (see WeightFormat, which
/// has the formulas of the weights). Each element is one chain over the groups g of the inputs, in
/// ascending order, started from 0 or from c:
///   int8: c = fma(scale, sum of a q, c)
///   int4: c = fma(span, sum of a (1 + q / 16), c), then c = fma(least - span, sum of a, c)
/// The sums of a group are chains as for bfloat16 panels, started from 0; the last one is
/// `input_sums`. So weights are never rounded, and the bits are the same for any rows and panels.
struct MultiplyCodesArgs {
  MultiplyArgs product;     // k a multiple of kCodeDepth
  const float* input_sums;  // int4: [rows, groups], see sum_groups; rows a_stride bytes apart
};

/// All functions are pure but for what they write, and safe to call from several threads. Vectors
/// may have any length and alignment. Sums go over 16 lanes (element i in lane i mod 16), which are
/// then added as a fixed tree.
struct Kernels {
  void (*multiply_f32)(const MultiplyArgs& args);
  /// Rows written by pack_bf16, bfloat16 panels.
  void (*multiply_packed_bf16)(const MultiplyArgs& args);

  /// Rows written by pack_bf16, panels of codes.
  void (*multiply_int8)(const MultiplyCodesArgs& args);
  void (*multiply_int4)(const MultiplyCodesArgs& args);
  /// sums [groups] = the sums of each kInt4Group numbers that pack_bf16 wrote, as lanes and a tree.
  void (*sum_groups)(const void* packed, int64_t groups, float* sums);

  /// x [n] rounded to bfloat16, in the form that multiply_packed_bf16 reads: bfloat16, or float32
  /// where the processor can't multiply bfloat16. `packed` has packed_bf16_bytes for each number.
  void (*pack_bf16)(const float* x, int64_t n, void* packed);
  int64_t packed_bf16_bytes;

  /// out = x / sqrt(mean(x^2) + eps) * weight; x, weight, out: [n]. May work in place.
  void (*rms_norm)(const float* x, const float* weight, float eps, int64_t n, float* out);
  /// out = gate * sigmoid(gate) * up, all [n].
  void (*silu_multiply)(const float* gate, const float* up, int64_t n, float* out);
  /// x = sigmoid(x), [n].
  void (*sigmoid)(float* x, int64_t n);
  /// y += x, [n].
  void (*add)(const float* x, int64_t n, float* y);
  /// y = scale * y + x, [n].
  void (*scale_add)(float scale, const float* x, int64_t n, float* y);
  /// y = scale * y, [n].
  void (*scale)(float scale, int64_t n, float* y);
  /// Largest of x [n]; -infinity for n = 0. NaNs may be passed over: see all_finite.
  float (*max)(const float* x, int64_t n);
  /// x = exp(scale * (x - shift)), returns their sum; [n]. exp(-infinity) is exactly 0.
  float (*exp_sum)(float* x, int64_t n, float shift, float scale);
  /// Neither NaN nor infinity in x [n].
  bool (*all_finite)(const float* x, int64_t n);

  /// Panels of `type` by rows of the form that goes with them, float32 or packed.
  void multiply(ElementType type, const MultiplyArgs& args) const {
    type == ElementType::kFloat32 ? multiply_f32(args) : multiply_packed_bf16(args);
  }
};

/// The table for `isa`, which must be one of SupportedCpuIsas().
const Kernels& KernelsFor(CpuIsa isa);

}  // namespace affine
