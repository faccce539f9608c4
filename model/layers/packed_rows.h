// The input of linear layers, in the form that their multiply kernel reads fastest.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "model/runtime/kernels.h"
#include "model/runtime/weight_format.h"

namespace affine {

/// Rows [rows, width] packed for weights of `format`: float32 as they are, or rounded to bfloat16.
/// For int4 the sums of each group of inputs follow. Different rows may be set from several
/// threads.
class PackedRows {
 public:
  PackedRows(const Kernels& kernels, WeightFormat format, int64_t rows, int64_t width)
      : kernels_(kernels),
        format_(format),
        groups_(format == WeightFormat::kInt4 ? (width + kInt4Group - 1) / kInt4Group : 0),
        input_bytes_(InputBytes(width)),
        stride_(((input_bytes_ + groups_ * 4 + 63) / 64 | 1) * 64),
        bytes_(rows * stride_) {}

  /// Row `row` becomes x [n], with the same n, at most the width, for all rows; what follows stays
  /// zero.
  void Set(int64_t row, const float* x, int64_t n) {
    char* to = bytes_.data() + row * stride_;
    if (InputType(format_) == ElementType::kFloat32) {
      std::memcpy(to, x, n * sizeof(float));
      return;
    }
    kernels_.pack_bf16(x, n, to);
    if (groups_ > 0) kernels_.sum_groups(to, groups_, reinterpret_cast<float*>(to + input_bytes_));
  }

  const char* row(int64_t index) const { return bytes_.data() + index * stride_; }
  /// Of row `index`, [groups]; also stride() bytes from row to row.
  const float* group_sums(int64_t index) const {
    return reinterpret_cast<const float*>(row(index) + input_bytes_);
  }
  /// From row to row, in bytes: whole cache lines, and an odd number of them, because rows at
  /// multiples of 4 KiB would share cache sets.
  int64_t stride() const { return stride_; }
  WeightFormat format() const { return format_; }

 private:
  // Whole cache lines, and whole groups: what a multiply reads beyond the width is zero.
  int64_t InputBytes(int64_t width) const {
    if (groups_ > 0) width = groups_ * kInt4Group;
    const int64_t each =
        InputType(format_) == ElementType::kFloat32 ? 4 : kernels_.packed_bf16_bytes;
    return (width * each + 63) / 64 * 64;
  }

  const Kernels& kernels_;
  WeightFormat format_;
  int64_t groups_;
  int64_t input_bytes_;
  int64_t stride_;
  std::vector<char> bytes_;
};

}  // namespace affine
