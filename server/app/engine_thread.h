// The thread that an engine runs on.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "server/engine/engine.h"

namespace affine {

class EngineThread {
 public:
  /// Starts at once. `engine` outlives this. `on_failure` is called on the engine's thread if
  /// Run throws, once failed() is true.
  EngineThread(Engine& engine, std::function<void()> on_failure);
  ~EngineThread();  // Stop
  /// Ends all requests with kUnavailable, then the thread.
  void Stop();
  bool failed() const { return failed_; }
  /// What went wrong, with failed().
  const std::string& cause() const { return cause_; }

 private:
  Engine& engine_;
  std::string cause_;  // written before failed_
  std::atomic<bool> failed_ = false;
  std::thread thread_;
};

/// How requests end that are still running when the process stops.
RequestError StoppingError();

}  // namespace affine
