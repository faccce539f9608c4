// Lets several parts hear what one engine tells.
#pragma once

#include <vector>

#include "server/engine/engine_observer.h"

namespace affine {

/// Passes every call on to each listener, in the order given. As thread-safe as they are.
class ObserverFanOut final : public EngineObserver {
 public:
  /// The listeners outlive this.
  explicit ObserverFanOut(std::vector<EngineObserver*> listeners);
  /// One more listener, last in order. Only while no engine is running.
  void Listen(EngineObserver& listener) { listeners_.push_back(&listener); }
  void OnStep(const StepReport& report) override;
  void OnInterTokenGap(Clock::Duration gap) override;
  void OnFinish(const Request& request, const RequestFinish& finish) override;
  void OnStability(std::span<const HeadStability> heads) override;
  void OnUnstable(const Request& request, const LimitBreach& breach) override;

 private:
  std::vector<EngineObserver*> listeners_;
};

}  // namespace affine
