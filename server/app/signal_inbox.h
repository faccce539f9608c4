// Signals and other events as things to wait for, so that no work is done in a handler.
#pragma once

#include <chrono>
#include <optional>

namespace affine {

/// SIGTERM and SIGINT are read from a descriptor. Wake is thread-safe; Wait is for one thread.
class SignalInbox {
 public:
  /// Blocks both signals in this thread and in those it starts from now on, and ignores SIGPIPE.
  /// Make it before any thread. Throws std::system_error.
  SignalInbox();
  ~SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  enum class Event { kSignal, kWake, kTimeout };
  /// The next event; a signal goes before a wake. Without `timeout` it waits for ever.
  Event Wait(std::optional<std::chrono::milliseconds> timeout = std::nullopt);
  /// Lets one Wait, now or later, return kWake.
  void Wake();

 private:
  int signals_ = -1;  // signalfd
  int wakes_ = -1;    // eventfd
};

}  // namespace affine
