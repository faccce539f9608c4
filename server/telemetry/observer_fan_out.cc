#include "server/telemetry/observer_fan_out.h"

#include <utility>

namespace affine {

ObserverFanOut::ObserverFanOut(std::vector<EngineObserver*> listeners)
    : listeners_(std::move(listeners)) {}

void ObserverFanOut::OnStep(const StepReport& report) {
  for (EngineObserver* listener : listeners_) listener->OnStep(report);
}

void ObserverFanOut::OnInterTokenGap(Clock::Duration gap) {
  for (EngineObserver* listener : listeners_) listener->OnInterTokenGap(gap);
}

void ObserverFanOut::OnFinish(const Request& request, const RequestFinish& finish) {
  for (EngineObserver* listener : listeners_) listener->OnFinish(request, finish);
}

void ObserverFanOut::OnStability(std::span<const HeadStability> heads) {
  for (EngineObserver* listener : listeners_) listener->OnStability(heads);
}

void ObserverFanOut::OnUnstable(const Request& request, const LimitBreach& breach) {
  for (EngineObserver* listener : listeners_) listener->OnUnstable(request, breach);
}

}  // namespace affine
