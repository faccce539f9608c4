#include "server/telemetry/observer_fan_out.h"

#include <utility>

namespace affine {

ObserverFanOut::ObserverFanOut(std::vector<EngineObserver*> engine, std::vector<ApiObserver*> api)
    : engine_(std::move(engine)), api_(std::move(api)) {}

void ObserverFanOut::OnStep(const StepReport& report) {
  for (EngineObserver* listener : engine_) listener->OnStep(report);
}

void ObserverFanOut::OnInterTokenGap(Clock::Duration gap) {
  for (EngineObserver* listener : engine_) listener->OnInterTokenGap(gap);
}

void ObserverFanOut::OnFinish(const Request& request, const RequestFinish& finish) {
  for (EngineObserver* listener : engine_) listener->OnFinish(request, finish);
}

void ObserverFanOut::OnStability(std::span<const HeadStability> heads) {
  for (EngineObserver* listener : engine_) listener->OnStability(heads);
}

void ObserverFanOut::OnRefused(const std::string& request_id, const RequestError& error) {
  for (ApiObserver* listener : api_) listener->OnRefused(request_id, error);
}

void ObserverFanOut::OnFirstToken(Clock::Duration since_arrival) {
  for (ApiObserver* listener : api_) listener->OnFirstToken(since_arrival);
}

}  // namespace affine
