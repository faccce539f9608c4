// Where a front end reads how stable a served model's attention is.
#pragma once

#include <cstdint>
#include <vector>

#include "model/stability.h"

namespace affine {

struct StabilitySnapshot {
  int32_t layers = 0;
  int32_t heads = 0;
  int32_t steps = 0;                // observed steps that the sums are of; at most the window's
  std::vector<HeadStability> sums;  // [layers, heads]
};

/// Thread-safe.
class StabilitySource {
 public:
  virtual ~StabilitySource() = default;
  /// Over the latest observed steps.
  virtual StabilitySnapshot Snapshot() const = 0;
};

}  // namespace affine
