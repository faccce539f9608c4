#include "server/telemetry/stability_window.h"

#include <algorithm>

namespace affine {

StabilityWindow::StabilityWindow(int32_t layers, int32_t heads)
    : layers_(layers), heads_(heads), steps_(kSteps * layers * heads) {}

void StabilityWindow::Add(std::span<const HeadStability> heads) {
  const std::lock_guard lock(mutex_);
  std::copy(heads.begin(), heads.end(), steps_.begin() + (added_++ % kSteps) * layers_ * heads_);
}

StabilitySnapshot StabilityWindow::Snapshot() const {
  const size_t width = static_cast<size_t>(layers_) * heads_;
  StabilitySnapshot snapshot{layers_, heads_, 0, std::vector<HeadStability>(width)};
  const std::lock_guard lock(mutex_);
  const size_t steps = std::min(added_, kSteps);
  for (size_t i = 0; i < steps * width; ++i) snapshot.sums[i % width].Add(steps_[i]);
  snapshot.steps = static_cast<int32_t>(steps);
  return snapshot;
}

}  // namespace affine
