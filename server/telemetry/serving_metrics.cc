#include "server/telemetry/serving_metrics.h"

#include <span>
#include <vector>

#include "server/telemetry/histogram_edges.h"

namespace affine {
namespace {

double Seconds(Clock::Duration duration) { return std::chrono::duration<double>(duration).count(); }

/// Makes the series of one served model in one registry.
class SeriesMaker {
 public:
  SeriesMaker(prometheus::Registry& registry, const std::string& model_name)
      : registry_(registry), labels_{{"model_name", model_name}} {}

  prometheus::Gauge* Gauge(const char* name, const char* help) {
    return &prometheus::BuildGauge().Name(name).Help(help).Register(registry_).Add(labels_);
  }
  prometheus::Counter* Counter(const char* name, const char* help,
                               const prometheus::Labels& more = {}) {
    prometheus::Labels labels = labels_;
    labels.insert(more.begin(), more.end());
    return &prometheus::BuildCounter().Name(name).Help(help).Register(registry_).Add(labels);
  }
  prometheus::Histogram* Histogram(const char* name, const char* help,
                                   std::span<const double> edges) {
    return &prometheus::BuildHistogram().Name(name).Help(help).Register(registry_).Add(
        labels_, std::vector<double>(edges.begin(), edges.end()));
  }

 private:
  prometheus::Registry& registry_;
  const prometheus::Labels labels_;
};

constexpr char kFinished[] = "affine_requests_finished_total";
constexpr char kFinishedHelp[] = "Requests that left the engine, by the reason they ended.";

}  // namespace

ServingMetrics::ServingMetrics(prometheus::Registry& registry, const std::string& model_name)
    : failed_(registry, model_name, "affine_requests_failed_total",
              "Requests that the engine took and did not complete, by cause.") {
  SeriesMaker make(registry, model_name);
  running_ = make.Gauge("affine_num_requests_running", "Sequences that hold cache blocks.");
  waiting_ = make.Gauge("affine_num_requests_waiting", "Requests accepted and not running.");
  cache_usage_ = make.Gauge("affine_kv_cache_usage_ratio", "Cache blocks in use, from 0 to 1.");
  blocks_used_ = make.Gauge("affine_kv_cache_blocks_used", "Cache blocks held by sequences.");
  blocks_total_ = make.Gauge("affine_kv_cache_blocks", "Cache blocks that there are.");
  prompt_tokens_ = make.Counter("affine_prompt_tokens_total",
                                "Prompt tokens computed or found in the prefix cache.");
  generation_tokens_ = make.Counter("affine_generation_tokens_total", "Tokens sampled.");
  prefix_queries_ = make.Counter("affine_prefix_cache_queries_total",
                                 "Prompt tokens looked up in the prefix cache.");
  prefix_hits_ =
      make.Counter("affine_prefix_cache_hits_total", "Prompt tokens found in the prefix cache.");
  preemptions_ = make.Counter("affine_num_preemptions_total",
                              "Times that a sequence gave up its blocks to be computed again.");
  drafts_ = make.Counter("affine_spec_decode_num_drafts_total",
                         "Times that a step guessed tokens ahead of a sequence's next one.");
  draft_tokens_ =
      make.Counter("affine_spec_decode_num_draft_tokens_total", "Tokens guessed and computed.");
  accepted_tokens_ = make.Counter("affine_spec_decode_num_accepted_tokens_total",
                                  "Tokens guessed that came true and were kept.");
  finished_stop_ = make.Counter(kFinished, kFinishedHelp, {{"finished_reason", "stop"}});
  finished_length_ = make.Counter(kFinished, kFinishedHelp, {{"finished_reason", "length"}});
  finished_abort_ = make.Counter(kFinished, kFinishedHelp, {{"finished_reason", "abort"}});
  finished_error_ = make.Counter(kFinished, kFinishedHelp, {{"finished_reason", "error"}});
  finished_unstable_ = make.Counter(kFinished, kFinishedHelp, {{"finished_reason", "unstable"}});
  first_token_ = make.Histogram(
      "affine_time_to_first_token_seconds",
      "From the arrival of a request to the first token's write to its stream.", FirstTokenEdges());
  token_gap_ = make.Histogram("affine_inter_token_latency_seconds",
                              "Between two tokens of one request.", TokenGapEdges());
  duration_ = make.Histogram("affine_e2e_request_latency_seconds",
                             "From the arrival of a request to its end.", LatencyEdges());
  queue_time_ = make.Histogram("affine_request_queue_time_seconds",
                               "From the arrival of a request to its first step.", LatencyEdges());
  prefill_time_ = make.Histogram("affine_request_prefill_time_seconds",
                                 "From a request's first step to its first token.", LatencyEdges());
  decode_time_ = make.Histogram("affine_request_decode_time_seconds",
                                "From a request's first token to its end.", LatencyEdges());
  request_prompt_tokens_ = make.Histogram("affine_request_prompt_tokens",
                                          "Prompt tokens of a request.", TokenCountEdges());
  request_generation_tokens_ = make.Histogram("affine_request_generation_tokens",
                                              "Output tokens of a request.", TokenCountEdges());
  step_ =
      make.Histogram("affine_step_seconds", "One step: plan, model, commit, publish.", StepEdges());
  step_model_ =
      make.Histogram("affine_step_model_seconds", "The model's share of one step.", StepEdges());
  step_tokens_ = make.Histogram("affine_step_tokens",
                                "Prompt, decode and draft tokens in one step.", StepTokenEdges());
  batch_size_ = make.Histogram("affine_batch_size", "Sequences that one step gave a token to.",
                               BatchSizeEdges());
}

void ServingMetrics::OnStep(const StepReport& report) {
  SetLoad(report.load);
  prompt_tokens_->Increment(static_cast<double>(report.prefill_tokens + report.prefix_hits));
  generation_tokens_->Increment(report.sampled_tokens);
  prefix_queries_->Increment(static_cast<double>(report.prefix_queries));
  prefix_hits_->Increment(static_cast<double>(report.prefix_hits));
  preemptions_->Increment(report.preemptions);
  drafts_->Increment(report.drafted_sequences);
  draft_tokens_->Increment(report.draft_tokens);
  accepted_tokens_->Increment(report.accepted_drafts);
  step_->Observe(Seconds(report.duration));
  step_model_->Observe(Seconds(report.model));
  step_tokens_->Observe(report.prefill_tokens + report.decode_tokens + report.draft_tokens);
  batch_size_->Observe(report.sampled_sequences);
}

void ServingMetrics::OnInterTokenGap(Clock::Duration gap) { token_gap_->Observe(Seconds(gap)); }

void ServingMetrics::OnFinish(const Request& request, const RequestFinish& finish) {
  duration_->Observe(Seconds(finish.finished - finish.arrival));
  request_prompt_tokens_->Observe(finish.prompt_tokens);
  request_generation_tokens_->Observe(finish.output_tokens);
  // A request that never left the queue waited until its end.
  queue_time_->Observe(Seconds(finish.first_scheduled.value_or(finish.finished) - finish.arrival));
  if (finish.first_token) {
    decode_time_->Observe(Seconds(finish.finished - *finish.first_token));
    if (finish.first_scheduled) {
      prefill_time_->Observe(Seconds(*finish.first_token - *finish.first_scheduled));
    }
  }
  CountEnd(finish);
}

void ServingMetrics::CountEnd(const RequestFinish& finish) {
  switch (finish.reason) {
    case FinishReason::kStop:
      return finished_stop_->Increment();
    case FinishReason::kLength:
      return finished_length_->Increment();
    case FinishReason::kUnstable:
      return finished_unstable_->Increment();
    case FinishReason::kError:
      break;
  }
  const ErrorCause cause = finish.error ? finish.error->cause : ErrorCause::kInternal;
  failed_.Increment(cause);
  const bool aborted = cause == ErrorCause::kCancelled || cause == ErrorCause::kDeadline;
  (aborted ? finished_abort_ : finished_error_)->Increment();
}

void ServingMetrics::CountFirstToken(Clock::Duration since_arrival) {
  first_token_->Observe(Seconds(since_arrival));
}

void ServingMetrics::Refresh() {
  if (const CompletionEngine* engine = engine_.load()) SetLoad(engine->load());
}

void ServingMetrics::SetLoad(const EngineLoad& load) {
  running_->Set(load.running);
  waiting_->Set(load.waiting);
  blocks_used_->Set(load.blocks_used);
  blocks_total_->Set(load.blocks_total);
  cache_usage_->Set(load.blocks_total > 0 ? static_cast<double>(load.blocks_used) /
                                                static_cast<double>(load.blocks_total)
                                          : 0.0);
}

}  // namespace affine
