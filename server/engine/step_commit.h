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

/// What a step came to, over all its slices.
struct StepOutcome {
  int32_t sampled_tokens = 0;     // that sequences got
  int32_t sampled_sequences = 0;  // that got any
  int32_t accepted_drafts = 0;
  int32_t taken_back = 0;  // sequences that are to be computed again, without drafts
};

/// Used on the engine's thread alone.
class StepCommit {
 public:
  /// All outlive this object.
  StepCommit(Scheduler& scheduler, LiveRequests& live, Publisher& publisher,
             EngineObserver& observer, const StabilityWatch& watch);

  /// `results`: one for each of the plan's slices, as the batch asked. Queues the events. A slice
  /// that is not finite ends its sequence alone: its token is not published and its blocks are not
  /// made findable. If it had drafts, these may be the cause: then the sequence is taken back
  /// instead, and what it is without them decides. A slice whose attention is unstable ends its
  /// sequence as well, but that what was scored of its prompt is published.
  StepOutcome Apply(const StepPlan& plan, std::span<const SliceResult> results, Clock::Time now);
  /// The step failed as a whole: its sequences end with `error`, others stay.
  void Fail(const StepPlan& plan, const RequestError& error, Clock::Time now);

 private:
  void ApplySlice(const PlannedSlice& slice, const SliceResult& result, bool unstable,
                  Clock::Time now);
  void ApplyNonFinite(const PlannedSlice& slice, LiveRequest& live, Clock::Time now);
  void CollectPromptScores(LiveRequest& live, const PlannedSlice& slice, const SliceResult& result,
                           TokenEvent* event) const;
  std::optional<Ending> TakeTokens(LiveRequest& live, const PlannedSlice& slice,
                                   const SliceResult& result, Clock::Time now, TokenEvent* event);
  void NoteTokens(LiveRequest& live, int32_t count, Clock::Time now) const;

  Scheduler& scheduler_;
  LiveRequests& live_;
  Publisher& publisher_;
  EngineObserver& observer_;
  const StabilityWatch& watch_;
  StepOutcome outcome_;  // of the step at hand
};

/// Why a request with a grammar ends where it stands, if it does.
std::optional<Ending> EndOfGrammar(const LiveRequest& live);

/// Throws std::logic_error, naming the slice, unless `results` answers everything that `batch`
/// asked for.
void CheckResults(const StepBatch& batch, std::span<const SliceResult> results);

}  // namespace affine
