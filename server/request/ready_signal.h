// Tells a reader of several sources that there is something to read: once, not once for each.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

namespace affine {

/// Thread-safe. What a source had before it called Raise is found by whoever looks after Clear, or
/// `on_ready` is called after that.
class ReadySignal {
 public:
  explicit ReadySignal(std::function<void()> on_ready) : on_ready_(std::move(on_ready)) {}
  /// A source has something new. Calls `on_ready` if that was not done since Clear.
  void Raise() {
    if (!raised_.exchange(true)) on_ready_();
  }
  /// The reader is about to look at all sources.
  void Clear() { raised_ = false; }

 private:
  const std::function<void()> on_ready_;
  std::atomic<bool> raised_ = false;
};

}  // namespace affine
