// What an engine tells of itself; telemetry and the request log listen.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "model/stability.h"
#include "server/engine/stability_limits.h"
#include "server/request/completion_engine.h"
#include "server/request/token_sink.h"

namespace affine {

struct StepReport {
  int32_t prefill_tokens = 0;     // prompt tokens computed in the step
  int32_t decode_tokens = 0;      // sampled ones computed in the step: one for each decode
  int32_t draft_tokens = 0;       // guesses computed beside them
  int32_t drafted_sequences = 0;  // that had any
  int32_t accepted_drafts = 0;    // guesses that came true and were kept
  int32_t sampled_tokens = 0;     // tokens that sequences got
  int32_t sampled_sequences = 0;  // sequences that got any
  Clock::Duration duration{};     // plan, model step, commit and publish
  Clock::Duration model{};        // of that, inside the model
  Clock::Duration observation{};  // of that, measuring the attention
  EngineLoad load;
  int64_t prefix_queries = 0;  // prompt tokens looked up in the prefix cache in this step
  int64_t prefix_hits = 0;     // of those, found
  int32_t preemptions = 0;
};

/// Called on the engine's thread; must not block.
class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  virtual void OnStep(const StepReport& report) = 0;
  /// Called for every token after a request's first, with the time since the one before. Of tokens
  /// that one step brought together, each has an even share of the time since the step before.
  virtual void OnInterTokenGap(Clock::Duration gap) = 0;
  virtual void OnFinish(const Request& request, const RequestFinish& finish) = 0;
  /// What one sampled step measured, [layers, heads].
  virtual void OnStability(std::span<const HeadStability> heads) = 0;
  /// The request's attention passed a limit; once for each request and limit.
  virtual void OnUnstable(const Request& request, const LimitBreach& breach) = 0;
};

}  // namespace affine
