// The engine: one thread that plans, steps, commits and publishes, over and over.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "model/language_model.h"
#include "server/admission/admission_queue.h"
#include "server/engine/batch_builder.h"
#include "server/engine/engine_observer.h"
#include "server/engine/live_requests.h"
#include "server/engine/publisher.h"
#include "server/engine/stability_limits.h"
#include "server/engine/stability_watch.h"
#include "server/engine/step_commit.h"
#include "server/request/clock.h"
#include "server/request/completion_engine.h"
#include "server/scheduler/block_pool.h"
#include "server/scheduler/block_tables.h"
#include "server/scheduler/prefix_hasher.h"
#include "server/scheduler/scheduler.h"

namespace affine {

struct EngineOptions {
  int32_t max_num_batched_tokens = 2048;  // at least max_num_seqs; at most what the model takes
  int32_t max_num_seqs = 256;             // most sequences running at once
  int32_t max_num_queued_reqs = 1024;     // most requests accepted and not running; at least 1
  int32_t max_prefill_tokens_beside_decodes = 0;  // in a step that decodes; 0: no bound of its own
  int32_t max_decode_stall_ms = 0;  // expected time of a step that decodes; 0: no bound
  bool enable_prefix_caching = true;
  DraftOptions drafts{};               // prompt lookup, which changes no bit of an answer
  int32_t stability_sample_every = 0;  // every so many steps the attention is sampled; 0: never
  StabilityLimits stability_limits{};
  HashKey prefix_hash_key{};  // random, drawn anew for each process
};

/// Submit, Cancel, load, Drain, Stop and WaitIdle are thread-safe. Run and RunOnce are for one
/// thread, the engine's, which alone touches the model, the scheduler and the block tables and
/// holds no lock while the model runs. The destructor must not overlap Run; it ends with
/// kUnavailable what is still alive.
class Engine final : public CompletionEngine {
 public:
  /// All references outlive the engine. Throws std::invalid_argument if options contradict.
  Engine(LanguageModel& model, const EngineOptions& options, const Clock& clock,
         EngineObserver& observer);
  ~Engine() override;

  const ModelInfo& info() const override { return model_.info(); }
  std::variant<std::vector<RequestHandle>, RequestError> SubmitAll(
      std::vector<Request> requests) override;
  void Cancel(RequestHandle handle, std::optional<RequestError> error) override;
  EngineLoad load() const override;

  /// Takes steps, sleeping when there is nothing to do, until Stop has ended every request.
  void Run();
  /// One round: inbox, deadlines, then one Plan, Step, Commit, Publish. True if anything was done.
  bool RunOnce();
  /// Refuses new requests with kUnavailable; those accepted go on.
  void Drain();
  /// Also ends all requests with `error` before the next step, and then Run.
  void Stop(RequestError error);
  /// Waits until every accepted request has ended; false if `deadline`, on the steady clock, came
  /// first.
  bool WaitIdle(Clock::Time deadline) const { return queue_.WaitIdle(deadline); }

  // For the engine's thread.
  const Scheduler& scheduler() const { return scheduler_; }
  const BlockPool& pool() const { return pool_; }

 private:
  bool TakeInbox();
  void CheckGoals(uint64_t handle, Clock::Time now);
  void CheckGrammar(uint64_t handle, Clock::Time now);
  void NotePlan(const StepPlan& plan, Clock::Time now, StepReport* report);
  void StepAndCommit(const StepPlan& plan, StepReport* report);
  static void CountTokens(const StepPlan& plan, const StepOutcome& outcome, StepReport* report);
  void Publish();
  void UpdateLoad(int32_t started);

  LanguageModel& model_;
  const Clock& clock_;
  EngineObserver& observer_;
  AdmissionQueue queue_;
  const PrefixHasher hasher_;
  BlockPool pool_;
  BlockTables tables_;
  Scheduler scheduler_;
  Publisher publisher_;
  LiveRequests live_;
  BatchBuilder batch_builder_;
  StabilityWatch watch_;
  StepCommit commit_;
  Inbox inbox_;
  bool stopped_ = false;
  mutable std::mutex load_mutex_;
  EngineLoad load_;  // guarded by load_mutex_; `waiting` is the queue's to say
};

}  // namespace affine
