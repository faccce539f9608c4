// How the weights of a linear layer are kept in memory.
#pragma once

#include <cstdint>

#include "model/runtime/kernels.h"

namespace affine {

/// The integer formats keep a panel's inputs in groups, one after the other, the last perhaps
/// shorter. A group is a head of 64 bytes, then codes q:
///   kInt8: head [16] float32, the columns' scales; codes [inputs, 16] of one signed byte.
///          weight = scale * q, q in [-127, 127].
///   kInt4: head [16, 2] bfloat16, the columns' (span, least); codes [inputs / 8, 16] of four
///          bytes, input i of the eight at bit 16 (i % 2) + 4 (i / 2).
///          weight = span * q / 16 + least, q in [0, 15].
enum class WeightFormat { kFloat32, kBfloat16, kInt8, kInt4 };

inline constexpr int64_t kInt8Group = 64, kInt4Group = 32;  // inputs
inline constexpr int64_t kGroupHeadBytes = 64;
/// Inputs that a panel of codes is made whole to, by inputs that must be zero.
inline constexpr int64_t kCodeDepth = 8;

inline constexpr bool HasCodes(WeightFormat format) {
  return format == WeightFormat::kInt8 || format == WeightFormat::kInt4;
}

/// Weights kept as they are.
inline constexpr WeightFormat FormatOf(ElementType type) {
  return type == ElementType::kFloat32 ? WeightFormat::kFloat32 : WeightFormat::kBfloat16;
}

/// The type that a layer's input rows are rounded to.
inline constexpr ElementType InputType(WeightFormat format) {
  return format == WeightFormat::kFloat32 ? ElementType::kFloat32 : ElementType::kBfloat16;
}

/// Inputs that are multiplied for `inputs` of a layer: the rest are zeros.
inline constexpr int64_t PaddedDepth(WeightFormat format, int64_t inputs) {
  const int64_t whole = HasCodes(format) ? kCodeDepth : format == WeightFormat::kBfloat16 ? 2 : 1;
  return (inputs + whole - 1) / whole * whole;
}

/// Bytes of a panel of 16 columns.
inline constexpr int64_t PanelBytes(WeightFormat format, int64_t inputs) {
  const int64_t weights = PaddedDepth(format, inputs) * kPanelWidth;
  switch (format) {
    case WeightFormat::kFloat32:
      return 4 * weights;
    case WeightFormat::kBfloat16:
      return 2 * weights;
    case WeightFormat::kInt8:
      return weights + (inputs + kInt8Group - 1) / kInt8Group * kGroupHeadBytes;
    case WeightFormat::kInt4:
      return weights / 2 + (inputs + kInt4Group - 1) / kInt4Group * kGroupHeadBytes;
  }
  return 0;
}

inline constexpr const char* WeightFormatName(WeightFormat format) {
  switch (format) {
    case WeightFormat::kFloat32:
      return "float32";
    case WeightFormat::kBfloat16:
      return "bfloat16";
    case WeightFormat::kInt8:
      return "int8";
    case WeightFormat::kInt4:
      return "int4";
  }
  return "unknown";
}

}  // namespace affine
