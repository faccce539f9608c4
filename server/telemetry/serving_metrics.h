// What the engine and the edge report of one served model, as Prometheus series.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <atomic>
#include <string>

#include "server/api/api_server.h"
#include "server/engine/engine_observer.h"
#include "server/request/request_error.h"

namespace affine {

/// Every cause: the closed set of the label `cause`, one counter each.
inline constexpr std::array kErrorCauses = {
    ErrorCause::kBadInput,    ErrorCause::kUnauthenticated, ErrorCause::kUnknownModel,
    ErrorCause::kNotFound,    ErrorCause::kTooLarge,        ErrorCause::kFull,
    ErrorCause::kUnavailable, ErrorCause::kDeadline,        ErrorCause::kCancelled,
    ErrorCause::kNonFinite,   ErrorCause::kInternal};

/// One counter for each cause, in the order of kErrorCauses.
using CauseCounters = std::array<prometheus::Counter*, kErrorCauses.size()>;

/// Thread-safe. Every series is made in the constructor, so that observing an event only adds to
/// atomics and to histograms of fixed size: nothing is allocated on the engine's thread. Labels
/// come from closed sets: the served name, finish reasons, error causes.
class ServingMetrics final : public EngineObserver, public ApiObserver {
 public:
  /// `registry` outlives this. `model_name` is the name that the model is served under.
  ServingMetrics(prometheus::Registry& registry, const std::string& model_name);

  void OnStep(const StepReport& report) override;
  void OnInterTokenGap(Clock::Duration gap) override;
  void OnFinish(const Request& request, const RequestFinish& finish) override;
  void OnStability(std::span<const HeadStability>) override {}  // AttentionMetrics shows it
  void OnRefused(const std::string& request_id, const RequestError& error) override;
  void OnFirstToken(Clock::Duration since_arrival) override;

  /// From now on Refresh reads `engine`, which outlives this or is replaced by nullptr first.
  void WatchEngine(const CompletionEngine* engine) { engine_.store(engine); }
  /// Sets the gauges to the engine's load of this moment: requests also come and go between
  /// steps. Called before each scrape.
  void Refresh();

 private:
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
  prometheus::Counter* finished_stop_;
  prometheus::Counter* finished_length_;
  prometheus::Counter* finished_abort_;  // cancelled, or past its deadline
  prometheus::Counter* finished_error_;
  CauseCounters failed_;
  CauseCounters refused_;
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
