#include "server/api/grpc/call_counter.h"

namespace affine {

void CallCounter::Enter() {
  std::lock_guard lock(mutex_);
  ++calls_;
}

void CallCounter::Leave() {
  std::lock_guard lock(mutex_);
  if (--calls_ == 0) none_.notify_all();
}

bool CallCounter::AwaitNone(Clock::Time deadline) {
  std::unique_lock lock(mutex_);
  return none_.wait_until(lock, deadline, [this] { return calls_ == 0; });
}

}  // namespace affine
