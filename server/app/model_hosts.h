// All served models at work.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "server/app/model_host.h"

namespace affine {

/// What concerns every engine of the process. Thread-safe, but for Add, which must not overlap
/// anything else, and StopThreads, which is for one thread.
class ModelHosts {
 public:
  ModelHost& Add(std::unique_ptr<ModelHost> host);
  const std::vector<std::unique_ptr<ModelHost>>& all() const { return hosts_; }
  /// Of the first whose engine's thread has failed.
  std::optional<Outcome> Failure() const;
  /// Added up over all engines.
  EngineLoad load() const;
  /// All refuse new requests with kUnavailable; those accepted go on.
  void Drain();
  /// Waits until every accepted request of every engine has ended; false if `deadline` came first.
  bool WaitIdle(Clock::Time deadline) const;
  /// Ends all requests with StoppingError before each engine's next step.
  void Stop();
  /// Stop, then the engines' threads.
  void StopThreads();

 private:
  std::vector<std::unique_ptr<ModelHost>> hosts_;
};

}  // namespace affine
