// What the engine and the edge report of one served model's requests, as
// Prometheus series.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <atomic>
#include <string>

#include "server/engine/engine_observer.h"
#include "server/telemetry/cause_counters.h"

namespace affine {

/// Thread-safe. Every series is made in the constructor, so that observing an
/// event only adds to atomics and to histograms of fixed size: nothing is
/// allocated on the engine's thread. Labels come from closed sets: the served
/// name, finish reasons, error causes.
class ServingMetrics final : public EngineObserver {
 public:
  /// `registry` outlives this. `model_name` is the name that the model is
  /// served under.
  ServingMetrics(prometheus::Registry& registry, const std::string& model_name);

  void OnStep(const StepReport& report) override;
  void OnInterTokenGap(Clock::Duration gap) override;
  void OnFinish(const Request& request, const RequestFinish& finish) override;
  void OnStability(std::span<const HeadStability>) override {}     // AttentionMetrics shows it
  void OnUnstable(const Request&, const LimitBreach&) override {}  // AttentionMetrics, too

  /// A request's first token was handed to its stream, or, without one, the
  /// engine had it.
  void CountFirstToken(Clock::Duration since_arrival);

  /// From now on Refresh reads `engine`, which outlives this or is replaced by
  /// nullptr first.
  void WatchEngine(const CompletionEngine* engine) { engine_.store(engine); }
  /// Sets the gauges to the engine's load of this moment: requests also come
  /// and go between steps. Called before each scrape.
  void Refresh();

 private:
  void CountEnd(const RequestFinish& finish);
  void SetLoad(const EngineLoad& load);

  std::atomic<const CompletionEngine*> engine_{nullptr};
  prometheus::Gauge* running_;
  prometheus::Gauge* waiting_;
  prometheus::Gauge* cache_usage_;
  prometheus::Gauge* blocks_used_;
  prometheus::Gauge* blocks_total_;
  prometheus::Counter* prompt_tokens_;
  prometheus::Counter* generation_tokens_;
  prometheus::Counter* prefix_queries_;
  prometheus::Counter* prefix_hits_;
  prometheus::Counter* preemptions_;
  prometheus::Counter* drafts_;
  prometheus::Counter* draft_tokens_;
  prometheus::Counter* accepted_tokens_;
  prometheus::Counter* finished_stop_;
  prometheus::Counter* finished_length_;
  prometheus::Counter* finished_abort_;  // cancelled, or past its deadline
  prometheus::Counter* finished_error_;
  prometheus::Counter* finished_unstable_;
  CauseCounters failed_;
  prometheus::Histogram* first_token_;
  prometheus::Histogram* token_gap_;
  prometheus::Histogram* duration_;
  prometheus::Histogram* queue_time_;
  prometheus::Histogram* prefill_time_;
  prometheus::Histogram* decode_time_;
  prometheus::Histogram* request_prompt_tokens_;
  prometheus::Histogram* request_generation_tokens_;
  prometheus::Histogram* step_;
  prometheus::Histogram* step_model_;
  prometheus::Histogram* step_tokens_;
  prometheus::Histogram* batch_size_;
};

}  // namespace affine
