// Token embeddings, looked up in the checkpoint's own bytes.
#pragma once

#include <cstdint>

#include "model/checkpoint/safetensors_file.h"
#include "model/layers/tensor_values.h"
#include "model/runtime/kernels.h"

namespace affine {

class Embedding {
 public:
  /// `table` [vocab, hidden] stays mapped as long as this lives.
  Embedding(const TensorView& table, ElementType element) : table_(table), element_(element) {}

  /// out [hidden] = the row of `id`, rounded to the model's element type.
  void LookUp(int32_t id, float* out) const {
    const int64_t hidden = table_.shape[1], first = id * hidden;
    for (int64_t i = 0; i < hidden; ++i) {
      out[i] = element_ == ElementType::kFloat32 ? FloatAt(table_, first + i)
                                                 : FromBfloat16(Bfloat16At(table_, first + i));
    }
  }

 private:
  TensorView table_;
  ElementType element_;
};

}  // namespace affine
