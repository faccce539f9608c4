// What a model will take of the machine's memory, checked before weights are read.
#pragma once

#include <cstdint>
#include <optional>

#include "model/checkpoint/model_config.h"
#include "model/runtime/weight_format.h"

namespace affine {

/// In bytes, once all of it has been touched.
struct MemoryNeed {
  int64_t weights = 0;  // packed
  int64_t cache = 0;    // keys, values, value sums
  int64_t step = 0;     // see StepBytes

  int64_t total() const { return weights + cache + step; }
};

/// Bytes of `parameters` packed weights, with layers in `format`, group heads included. Paddings
/// and what is small are left out.
int64_t WeightBytes(const ModelConfig& config, int64_t parameters, WeightFormat format);

/// Bytes of the buffers that are made once: a step's (StepWorkspace) at `rows` rows, logits, and
/// rotary angles for `length` positions. Paddings and what is small are left out.
int64_t StepBytes(const ModelConfig& config, int64_t rows, int64_t length);

/// Throws ModelError where `need` is more than `available` bytes. Unset refuses nothing.
void CheckMemory(const MemoryNeed& need, std::optional<int64_t> available);

}  // namespace affine
