// Lets several parts hear what one engine and one edge tell.
#pragma once

#include <string>
#include <vector>

#include "server/api/api_server.h"
#include "server/engine/engine_observer.h"

namespace affine {

/// Passes every call on to each listener, in the order given. As thread-safe as they are.
class ObserverFanOut final : public EngineObserver, public ApiObserver {
 public:
  /// The listeners outlive this.
  ObserverFanOut(std::vector<EngineObserver*> engine, std::vector<ApiObserver*> api);
  /// One more listener, last in order. Only while no engine is running.
  void Listen(EngineObserver& listener) { engine_.push_back(&listener); }
  void OnStep(const StepReport& report) override;
  void OnInterTokenGap(Clock::Duration gap) override;
  void OnFinish(const Request& request, const RequestFinish& finish) override;
  void OnStability(std::span<const HeadStability> heads) override;
  void OnRefused(const std::string& request_id, const RequestError& error) override;
  void OnFirstToken(Clock::Duration since_arrival) override;

 private:
  std::vector<EngineObserver*> engine_;
  const std::vector<ApiObserver*> api_;
};

}  // namespace affine
