#include "server/admission/start_rate.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace affine {

void StartRate::Note(int32_t started, Clock::Time now) {
  for (int32_t i = 0; i < std::min(started, kWindow); ++i) times_[noted_++ % kWindow] = now;
}

int StartRate::SecondsFor(int32_t count, Clock::Time now) const {
  if (noted_ == 0) return 1;
  const int64_t in_window = std::min<int64_t>(noted_, kWindow);
  const Clock::Time oldest = times_[(noted_ - in_window) % kWindow];
  const double span = std::chrono::duration<double>(now - oldest).count();
  const double seconds = std::ceil(span / static_cast<double>(in_window) * count);
  return static_cast<int>(std::clamp(seconds, 1.0, 60.0));
}

}  // namespace affine
