// Single numbers of a checkpoint's tensors, whatever type they are stored in.
#pragma once

#include <c10/util/Half.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "model/checkpoint/safetensors_file.h"
#include "model/runtime/bfloat16.h"

namespace affine {

/// Element `index` of `tensor` in row-major order; the bytes may lie at any alignment.
inline float FloatAt(const TensorView& tensor, int64_t index) {
  if (tensor.dtype == TensorDtype::kFloat32) {
    float x;
    std::memcpy(&x, tensor.data.data() + 4 * index, sizeof(x));
    return x;
  }
  uint16_t bits;
  std::memcpy(&bits, tensor.data.data() + 2 * index, sizeof(bits));
  if (tensor.dtype == TensorDtype::kBFloat16) return FromBfloat16(bits);
  return c10::detail::fp16_ieee_to_fp32_value(bits);
}

/// The same, rounded to bfloat16.
inline uint16_t Bfloat16At(const TensorView& tensor, int64_t index) {
  if (tensor.dtype != TensorDtype::kBFloat16) return ToBfloat16(FloatAt(tensor, index));
  uint16_t bits;
  std::memcpy(&bits, tensor.data.data() + 2 * index, sizeof(bits));
  return bits;
}

/// All elements.
inline std::vector<float> Floats(const TensorView& tensor) {
  int64_t count = 1;
  for (int64_t size : tensor.shape) count *= size;
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = FloatAt(tensor, i);
  return values;
}

}  // namespace affine
