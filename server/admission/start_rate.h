// How fast requests have lately left the queue.
#pragma once

#include <array>
#include <cstdint>

#include "server/request/clock.h"

namespace affine {

/// Over the last 32 departures and the time since. Not thread-safe.
class StartRate {
 public:
  void Note(int32_t started, Clock::Time now);
  /// Seconds in which `count` requests are likely to leave the queue, in [1, 60]; 1 while nothing
  /// is known.
  int SecondsFor(int32_t count, Clock::Time now) const;

 private:
  static constexpr int32_t kWindow = 32;
  std::array<Clock::Time, kWindow> times_{};  // a ring
  int64_t noted_ = 0;
};

}  // namespace affine
