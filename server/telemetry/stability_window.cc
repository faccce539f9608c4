#include "server/telemetry/stability_window.h"

#include <algorithm>

namespace affine {

StabilityWindow::StabilityWindow(int32_t layers, int32_t heads)
    : layers_(layers), heads_(heads), steps_(kSteps * layers * heads) {}

void StabilityWindow::Add(std::span<const HeadStability> heads) {
  const std::lock_guard lock(mutex_);
  std::copy(heads.begin(), heads.end(), steps_.begin() + (added_++ % kSteps) * layers_ * heads_);
}

std::vector<HeadStability> StabilityWindow::Sum() const {
  const size_t width = static_cast<size_t>(layers_) * heads_;
  std::vector<HeadStability> sums(width);
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < std::min(added_, kSteps) * width; ++i) sums[i % width].Add(steps_[i]);
  return sums;
}

}  // namespace affine
