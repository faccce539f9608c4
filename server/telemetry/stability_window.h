// The attention's stability over the latest observed steps.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "model/stability.h"
#include "server/request/stability_source.h"

namespace affine {

/// A sliding window of steps. Thread-safe: the engine's thread adds, whoever shows the numbers sums
/// up.
class StabilityWindow {
 public:
  static constexpr size_t kSteps = 64;

  StabilityWindow(int32_t layers, int32_t heads);

  /// `heads` [layers, heads]: what one observed step measured. The oldest step leaves a full
  /// window.
  void Add(std::span<const HeadStability> heads);
  /// Sums over the window's steps; all zero before the first.
  StabilitySnapshot Snapshot() const;

  int32_t layers() const { return layers_; }
  int32_t heads() const { return heads_; }

 private:
  const int32_t layers_, heads_;
  mutable std::mutex mutex_;
  std::vector<HeadStability> steps_;  // [kSteps, layers, heads], a ring; guarded by mutex_
  size_t added_ = 0;                  // guarded by mutex_
};

}  // namespace affine
