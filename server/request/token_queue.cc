#include "server/request/token_queue.h"

#include <utility>

namespace affine {

TokenQueue::TokenQueue(std::function<void()> on_ready) : on_ready_(std::move(on_ready)) {}

void TokenQueue::Push(TokenEvent event) {
  {
    std::lock_guard lock(events_mutex_);
    if (closed_) return;
    events_.push_back(std::move(event));
    if (events_.size() > 1) return;  // whoever was told of the first will find this one too
  }
  std::lock_guard lock(ready_mutex_);
  if (on_ready_) on_ready_();
}

std::optional<Clock::Time> TokenQueue::first_write() const {
  const Clock::Duration::rep ticks = first_write_;
  if (ticks == kNotWritten) return std::nullopt;
  return Clock::Time(Clock::Duration(ticks));
}

std::vector<TokenEvent> TokenQueue::Drain() {
  std::lock_guard lock(events_mutex_);
  return std::exchange(events_, {});
}

void TokenQueue::Close() {
  {
    std::lock_guard lock(events_mutex_);
    closed_ = true;
    events_.clear();
  }
  std::function<void()> dropped;  // destroyed after the lock is released: it may own anything
  {
    std::lock_guard lock(ready_mutex_);
    dropped.swap(on_ready_);
  }
}

}  // namespace affine
