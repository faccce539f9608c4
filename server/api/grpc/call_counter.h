// How many calls of the service are in flight, and waiting for their end.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "server/request/clock.h"

namespace affine {

/// Thread-safe.
class CallCounter {
 public:
  void Enter();
  void Leave();
  /// True once no call is in flight; false if that is not so by `deadline` of the steady clock.
  bool AwaitNone(Clock::Time deadline);

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  int64_t calls_ = 0;
};

}  // namespace affine
