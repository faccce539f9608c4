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

/// `n` columns as whole panels: what a multiply writes, and so the least stride of what it writes to.
inline constexpr int64_t PaddedWidth(int64_t n) {
  return (n + kPanelWidth - 1) / kPanelWidth * kPanelWidth;
}

/// Most rows of one multiply call.
inline constexpr int kMaxTileRows = 6;

/// Panels that one call takes beside each other, so that its accumulators fill the registers.
inline constexpr int MaxTilePanels(int rows) {
  return rows == 1 ? 4 : rows == 2 ? 3 : rows == 3 ? 2 : 1;
}

/// c[r, 16 p + j] (+)= sum over i of a[r, i] * panel_p[i, j], for r < rows, p < panels.
/// Each element is one chain of fused multiply-adds over i in ascending order, started from 0 or
/// from c: the same bits for any rows and panels, and for any cut of i into several calls.
struct TileArgs {
  const float* a;        // [rows, k], row r at a + r * a_stride
  int64_t a_stride;      // in floats
  int rows;              // 1..kMaxTileRows
  const void* panel;     // panel p starts at panel + p * panel_stride
  int64_t panel_stride;  // in bytes
  int panels;            // 1..MaxTilePanels(rows)
  int64_t k;
  float* c;  // [rows, 16 * panels], row r at c + r * c_stride
  int64_t c_stride;
  bool accumulate;  // start from c rather than from 0
};

/// All functions are pure but for what they write, and safe to call from several threads. Vectors
/// may have any length and alignment. Sums go over 16 lanes (element i in lane i mod 16), which are
/// then added as a fixed tree.
struct Kernels {
  void (*multiply_f32)(const TileArgs& args);
  void (*multiply_bf16)(const TileArgs& args);

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

  void multiply(ElementType type, const TileArgs& args) const {
    type == ElementType::kFloat32 ? multiply_f32(args) : multiply_bf16(args);
  }
};

/// The table for `isa`, which must be one of SupportedCpuIsas().
const Kernels& KernelsFor(CpuIsa isa);

}  // namespace affine
