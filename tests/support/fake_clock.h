// Time that moves only when a test says so.
#pragma once

#include <atomic>

#include "server/request/clock.h"

namespace affine {

/// Thread-safe.
class FakeClock final : public Clock {
 public:
  Time Now() const override { return Time(Duration(ticks_.load())); }
  void Advance(Duration by) { ticks_ += by.count(); }

 private:
  std::atomic<Duration::rep> ticks_{Duration(std::chrono::hours(1)).count()};
};

}  // namespace affine
