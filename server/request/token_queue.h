// Hands tokens from the engine's thread to a front-end thread.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "server/request/token_sink.h"

namespace affine {

/// Thread-safe. Holds at most what the request's max_tokens allow.
class TokenQueue final : public TokenSink {
 public:
  /// `on_ready` is called by Push when the queue was empty before. It must only post work
  /// elsewhere: it may neither use the queue nor destroy its owner.
  explicit TokenQueue(std::function<void()> on_ready);
  void Push(TokenEvent event) override;
  std::optional<Clock::Time> first_write() const override;
  void NoteFirstWrite(Clock::Time when) { first_write_ = when.time_since_epoch().count(); }
  /// All events since the last call, in order.
  std::vector<TokenEvent> Drain();
  /// When it has returned, `on_ready` is neither running nor called again, and later events are
  /// dropped. Not to be called from `on_ready`.
  void Close();

 private:
  std::mutex events_mutex_;
  std::vector<TokenEvent> events_;
  bool closed_ = false;
  std::mutex ready_mutex_;  // held while on_ready_ runs; never together with events_mutex_
  std::function<void()> on_ready_;
  static constexpr Clock::Duration::rep kNotWritten = Clock::Duration::min().count();
  std::atomic<Clock::Duration::rep> first_write_ = kNotWritten;  // ticks of the clock
};

}  // namespace affine
