// The input of linear layers, in the form that their multiply kernel reads fastest.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "model/runtime/kernels.h"

namespace affine {

/// Rows [rows, width] packed for weights of `element`: float32 as they are, or rounded to bfloat16.
/// Different rows may be set from several threads.
class PackedRows {
 public:
  PackedRows(const Kernels& kernels, ElementType element, int64_t rows, int64_t width)
      : kernels_(kernels),
        element_(element),
        stride_(StrideOf(kernels, element, width)),
        bytes_(rows * stride_) {}

  /// Row `row` becomes x [n], with the same n, at most the width, for all rows; what follows stays
  /// zero.
  void Set(int64_t row, const float* x, int64_t n) {
    char* to = bytes_.data() + row * stride_;
    if (element_ == ElementType::kFloat32) {
      std::memcpy(to, x, n * sizeof(float));
    } else {
      kernels_.pack_bf16(x, n, to);
    }
  }

  const char* row(int64_t index) const { return bytes_.data() + index * stride_; }
  int64_t stride() const { return stride_; }  // from row to row, in bytes
  ElementType element() const { return element_; }

 private:
  // Whole cache lines, and an odd number of them: rows at multiples of 4 KiB would share cache
  // sets.
  static int64_t StrideOf(const Kernels& kernels, ElementType element, int64_t width) {
    const int64_t bytes =
        width * (element == ElementType::kFloat32 ? 4 : kernels.packed_bf16_bytes);
    return ((bytes + 63) / 64 | 1) * 64;
  }

  const Kernels& kernels_;
  ElementType element_;
  int64_t stride_;
  std::vector<char> bytes_;
};

}  // namespace affine
