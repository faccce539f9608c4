// An engine observer that adds everything up.
#pragma once

#include <cstdint>
#include <vector>

#include "server/engine/engine_observer.h"

namespace affine {

/// For the engine's thread; read it when that rests.
class RecordingObserver final : public EngineObserver {
 public:
  void OnStep(const StepReport& report) override {
    ++steps;
    last = report;
    prefill_tokens += report.prefill_tokens;
    decode_tokens += report.decode_tokens;
    draft_tokens += report.draft_tokens;
    accepted_drafts += report.accepted_drafts;
    sampled_tokens += report.sampled_tokens;
    prefix_queries += report.prefix_queries;
    prefix_hits += report.prefix_hits;
    preemptions += report.preemptions;
  }
  void OnInterTokenGap(Clock::Duration gap) override { gaps.push_back(gap); }
  void OnFinish(const Request& request, const RequestFinish& finish) override {
    finished_ids.push_back(request.id);
    finishes.push_back(finish);
  }

  void OnStability(std::span<const HeadStability> heads) override {
    stability.emplace_back(heads.begin(), heads.end());
  }

  void OnUnstable(const Request& request, const LimitBreach& breach) override {
    unstable.emplace_back(request.id, breach);
  }

  int64_t steps = 0;
  StepReport last;
  int64_t prefill_tokens = 0;
  int64_t decode_tokens = 0;
  int64_t draft_tokens = 0;
  int64_t accepted_drafts = 0;
  int64_t sampled_tokens = 0;
  int64_t prefix_queries = 0;
  int64_t prefix_hits = 0;
  int64_t preemptions = 0;
  std::vector<Clock::Duration> gaps;
  std::vector<std::string> finished_ids;
  std::vector<RequestFinish> finishes;
  std::vector<std::vector<HeadStability>> stability;  // of each sampled step
  std::vector<std::pair<std::string, LimitBreach>> unstable;
};

}  // namespace affine
