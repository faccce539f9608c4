#include "server/app/model_hosts.h"

#include <utility>

namespace affine {

ModelHost& ModelHosts::Add(std::unique_ptr<ModelHost> host) {
  return *hosts_.emplace_back(std::move(host));
}

std::optional<Outcome> ModelHosts::Failure() const {
  for (const auto& host : hosts_) {
    if (auto failure = host->Failure()) return failure;
  }
  return std::nullopt;
}

EngineLoad ModelHosts::load() const {
  EngineLoad sum;
  for (const auto& host : hosts_) {
    const EngineLoad load = host->engine().load();
    sum.running += load.running;
    sum.waiting += load.waiting;
    sum.blocks_used += load.blocks_used;
    sum.blocks_total += load.blocks_total;
  }
  return sum;
}

void ModelHosts::Drain() {
  for (const auto& host : hosts_) host->engine().Drain();
}

bool ModelHosts::WaitIdle(Clock::Time deadline) const {
  for (const auto& host : hosts_) {
    if (!host->engine().WaitIdle(deadline)) return false;
  }
  return true;
}

void ModelHosts::Stop() {
  for (const auto& host : hosts_) host->engine().Stop(StoppingError());
}

// All are told before the first is waited for.
void ModelHosts::StopThreads() {
  Stop();
  for (const auto& host : hosts_) host->StopThread();
}

}  // namespace affine
