#include "server/engine/engine.h"

#include <chrono>
#include <exception>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "server/engine/fit.h"
#include "server/engine/goal_check.h"

namespace affine {
namespace {

SchedulerOptions ForScheduler(const EngineOptions& options) {
  return {.max_num_batched_tokens = options.max_num_batched_tokens,
          .max_num_seqs = options.max_num_seqs,
          .max_prefill_tokens_beside_decodes = options.max_prefill_tokens_beside_decodes,
          .max_decode_stall_seconds = options.max_decode_stall_ms / 1000.0,
          .drafts = options.drafts};
}

RequestError Unavailable() {
  return {.cause = ErrorCause::kUnavailable,
          .message = "the server is shutting down and takes no new requests; try another replica",
          .param = {},
          .retry_after_seconds = 0};
}

}  // namespace

Engine::Engine(LanguageModel& model, const EngineOptions& options, const Clock& clock,
               EngineObserver& observer)
    : model_(model),
      clock_(clock),
      observer_(observer),
      queue_(options.max_num_queued_reqs, clock),
      hasher_(options.prefix_hash_key),
      pool_(model.info().num_blocks, model.info().block_size),
      tables_(pool_, hasher_, options.enable_prefix_caching),
      scheduler_(ForScheduler(options), tables_),
      publisher_(observer),
      live_(model.info(), scheduler_, publisher_),
      batch_builder_(live_),
      watch_(model.info(), options.stability_sample_every, options.stability_limits, live_,
             observer),
      commit_(scheduler_, live_, publisher_, observer, watch_) {
  UpdateLoad(0);
}

Engine::~Engine() {
  Stop(Unavailable());
  TakeInbox();
}

std::variant<std::vector<RequestHandle>, RequestError> Engine::SubmitAll(
    std::vector<Request> requests) {
  for (const Request& request : requests) {
    if (std::optional<RequestError> why = WhyNeverFits(request, info())) return *std::move(why);
  }
  std::vector<RequestHandle> handles(requests.size());
  auto first = queue_.Submit(std::move(requests));
  if (auto* error = std::get_if<RequestError>(&first)) return std::move(*error);
  std::iota(handles.begin(), handles.end(), std::get<RequestHandle>(first));
  return handles;
}

void Engine::Cancel(RequestHandle handle, std::optional<RequestError> error) {
  queue_.Cancel(handle, std::move(error));
}

EngineLoad Engine::load() const {
  EngineLoad load;
  {
    const std::lock_guard lock(load_mutex_);
    load = load_;
  }
  load.waiting = queue_.num_queued();
  return load;
}

void Engine::Drain() { queue_.Close(Unavailable()); }

void Engine::Stop(RequestError error) { queue_.Stop(std::move(error)); }

// No work means no request alive, so there is no deadline to wake up for either.
void Engine::Run() {
  while (!stopped_) {
    if (!RunOnce()) queue_.WaitForWork();
  }
}

bool Engine::RunOnce() {
  const Clock::Time begin = clock_.Now();
  const bool took = TakeInbox();
  const StepPlan& plan = scheduler_.Plan(!watch_.SamplesNext());
  if (plan.slices.empty()) return took;
  StepReport report;
  NotePlan(plan, clock_.Now(), &report);
  StepAndCommit(plan, &report);
  Publish();
  report.duration = clock_.Now() - begin;
  if (report.model > Clock::Duration::zero()) {  // the step did not fail
    scheduler_.Learn(std::chrono::duration<double>(report.duration).count());
  }
  report.load = load();
  observer_.OnStep(report);
  return true;
}

// True if anything came or expired. What ends here is told at once, not after the next step.
bool Engine::TakeInbox() {
  queue_.Take(&inbox_);
  const Clock::Time now = clock_.Now();
  const bool took =
      !inbox_.submissions.empty() || !inbox_.cancellations.empty() || inbox_.stop.has_value();
  for (Submission& submission : inbox_.submissions) {
    live_.Add(submission.handle, std::move(submission.request));
  }
  for (const Submission& submission : inbox_.submissions) CheckGoals(submission.handle, now);
  for (const Submission& submission : inbox_.submissions) CheckGrammar(submission.handle, now);
  for (Cancellation& cancellation : inbox_.cancellations) {
    LiveRequest* live = live_.Find(cancellation.handle);
    if (live == nullptr) continue;
    if (cancellation.error) {
      live_.EndWithError(*live, *std::move(cancellation.error), now);
    } else {
      live_.End(*live, {.reason = FinishReason::kStop, .error = {}, .stop_token = {}}, {}, now);
    }
  }
  if (inbox_.stop) {
    live_.EndAll(*inbox_.stop, now);
    stopped_ = true;
  }
  const int32_t expired = live_.EndExpired(now);
  if (took || expired > 0) Publish();
  return took || expired > 0;
}

// In the order of arrival, so that one refused is not ahead of the next.
void Engine::CheckGoals(uint64_t handle, Clock::Time now) {
  LiveRequest& live = *live_.Find(handle);
  if (!live.request.max_ttft && !live.request.max_time_per_token) return;
  const std::optional<Forecast> forecast = scheduler_.ForecastOf(live.sequence);
  if (!forecast) return;
  if (auto error = WhyTooSlow(live.request, *forecast, now)) {
    live_.EndWithError(live, *std::move(error), now);
  }
}

// One that allows nothing more than an empty output ends before anything is computed.
void Engine::CheckGrammar(uint64_t handle, Clock::Time now) {
  LiveRequest* live = live_.Find(handle);
  if (live == nullptr || !live->grammar) return;
  if (auto ending = EndOfGrammar(*live)) live_.End(*live, *std::move(ending), {}, now);
}

void Engine::NotePlan(const StepPlan& plan, Clock::Time now, StepReport* report) {
  int32_t started = 0;
  for (const Admission& admission : plan.admitted) {
    RequestFinish& progress = live_.Of(*admission.sequence).progress;
    if (progress.first_scheduled) continue;  // it comes back from a preemption
    progress.first_scheduled = now;
    progress.cached_tokens = admission.cached_tokens + admission.forked_tokens;
    report->prefix_queries += admission.looked_up_tokens;
    report->prefix_hits += admission.cached_tokens;
    ++started;
  }
  for (const Sequence* sequence : plan.preempted) {
    LiveRequest& live = live_.Of(*sequence);
    ++live.progress.preemptions;
    live.prompt_scores.clear();  // the prompt is computed, and scored, from its start again
    ++report->preemptions;
  }
  UpdateLoad(started);
}

// A step that throws ends the sequences it was for, and those alone.
void Engine::StepAndCommit(const StepPlan& plan, StepReport* report) {
  const StepBatch batch = batch_builder_.Build(plan);
  watch_.Prepare(plan, batch_builder_.slices());
  const Clock::Time before = clock_.Now();
  std::span<const SliceResult> results;
  try {
    results = model_.Step(batch);
    CheckResults(batch, results);
  } catch (const std::exception& error) {
    commit_.Fail(plan,
                 {.cause = ErrorCause::kInternal,
                  .message = std::string("the model's step failed: ") + error.what(),
                  .param = {},
                  .retry_after_seconds = 0},
                 clock_.Now());
    return;
  }
  const Clock::Time after = clock_.Now();
  report->model = after - before;
  report->observation = std::chrono::duration_cast<Clock::Duration>(
      std::chrono::duration<double>(model_.observation_seconds()));
  watch_.Collect(plan);
  CountTokens(plan, commit_.Apply(plan, results, after), report);
}

void Engine::CountTokens(const StepPlan& plan, const StepOutcome& outcome, StepReport* report) {
  for (const PlannedSlice& slice : plan.slices) {
    (slice.decode ? report->decode_tokens : report->prefill_tokens) += slice.count;
    report->draft_tokens += slice.num_drafts;
    report->drafted_sequences += slice.num_drafts > 0 ? 1 : 0;
  }
  report->accepted_drafts = outcome.accepted_drafts;
  report->sampled_tokens = outcome.sampled_tokens;
  report->sampled_sequences = outcome.sampled_sequences;
  report->preemptions += outcome.taken_back;
}

// The load is settled before clients hear, so that who has its finish finds its blocks free.
void Engine::Publish() {
  UpdateLoad(0);
  const int32_t ended = publisher_.Flush();
  if (ended > 0) queue_.NoteEnded(ended);
}

void Engine::UpdateLoad(int32_t started) {
  queue_.SetWaiting(scheduler_.num_waiting(), started);
  const std::lock_guard lock(load_mutex_);
  load_.running = scheduler_.num_running();
  load_.blocks_used = pool_.num_used();
  load_.blocks_total = pool_.num_blocks();
}

}  // namespace affine
