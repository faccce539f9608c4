// Turns a step's results into cached blocks, tokens and endings.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/language_model.h"
#include "server/engine/engine_observer.h"
#include "server/engine/live_requests.h"
#include "server/engine/publisher.h"
#include "server/engine/stability_watch.h"
#include "server/scheduler/scheduler.h"

namespace affine {

/// Used on the engine's thread alone.
class StepCommit {
 public:
  /// All outlive this object.
  StepCommit(Scheduler& scheduler, LiveRequests& live, Publisher& publisher,
             EngineObserver& observer, const StabilityWatch& watch);

  /// `results`: one for each of the plan's slices, as the batch asked. Queues the events; returns
  /// the number of tokens sampled. A slice that is not finite ends its sequence alone: its token is
  /// not published and its blocks are not made findable. So does one whose attention is unstable,
  /// but that what was scored of its prompt is published.
  int32_t Apply(const StepPlan& plan, std::span<const SliceResult> results, Clock::Time now);
  /// The step failed as a whole: its sequences end with `error`, others stay.
  void Fail(const StepPlan& plan, const RequestError& error, Clock::Time now);

 private:
  bool ApplySlice(const PlannedSlice& slice, const SliceResult& result, bool unstable,
                  Clock::Time now);
  void EndNonFinite(LiveRequest& live, int32_t tokens, Clock::Time now);
  void CollectPromptScores(LiveRequest& live, const PlannedSlice& slice, const SliceResult& result,
                           TokenEvent* event) const;
  void AppendToken(LiveRequest& live, const ScoredToken& token, Clock::Time now);

  Scheduler& scheduler_;
  LiveRequests& live_;
  Publisher& publisher_;
  EngineObserver& observer_;
  const StabilityWatch& watch_;
};

/// Throws std::logic_error, naming the slice, unless `results` answers everything that `batch`
/// asked for.
void CheckResults(const StepBatch& batch, std::span<const SliceResult> results);

}  // namespace affine
