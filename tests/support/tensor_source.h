// A checkpoint tensor made in a test.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "model/checkpoint/safetensors_file.h"

namespace affine {

/// Owns float32 values and shows them as a TensorView.
class TensorSource {
 public:
  TensorSource(std::vector<int64_t> shape, std::vector<float> values)
      : shape_(std::move(shape)), values_(std::move(values)) {}
  /// Normal numbers of standard deviation `scale`, the same for the same seed.
  static TensorSource Random(std::vector<int64_t> shape, uint32_t seed, float scale = 1.0f) {
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal(0.0f, scale);
    std::vector<float> values(count);
    for (float& v : values) v = normal(engine);
    return TensorSource(std::move(shape), std::move(values));
  }

  const std::vector<float>& values() const { return values_; }
  TensorView view() const {
    return {TensorDtype::kFloat32, shape_, std::as_bytes(std::span(values_))};
  }

 private:
  std::vector<int64_t> shape_;
  std::vector<float> values_;
};

}  // namespace affine
