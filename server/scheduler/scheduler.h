// Decides what each step computes.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "server/scheduler/block_tables.h"
#include "server/scheduler/draft_planner.h"
#include "server/scheduler/forecast.h"
#include "server/scheduler/prefill_shares.h"
#include "server/scheduler/prompt_groups.h"
#include "server/scheduler/sequence.h"
#include "server/scheduler/step_budget.h"
#include "server/scheduler/step_plan.h"
#include "server/scheduler/step_time_model.h"

namespace affine {

struct SchedulerOptions {
  int32_t max_num_batched_tokens = 2048;  // in one step; at least max_num_seqs
  int32_t max_num_seqs = 256;             // most sequences that hold blocks at once
  /// Most prefill tokens in a step that also decodes, for even gaps between tokens; 0: no bound.
  int32_t max_prefill_tokens_beside_decodes = 0;
  /// Steps that decode have no more prefill than is expected to end within this; 0: no bound.
  double max_decode_stall_seconds = 0.0;
  /// Chunks are multiples of this, and one of this size goes on in every step, late or not.
  int32_t prefill_granule = 16;
  DraftOptions drafts{};
};

/// Rank is priority, then arrival. Blocks are handed out in order of rank, and whoever lacks one
/// takes it from the last in rank, who recomputes later; so the first in rank always advances, and
/// there is no livelock. Waiting sequences never displace running ones. Not thread-safe.
class Scheduler {
 public:
  /// `tables` outlives the scheduler. Throws std::invalid_argument if the options contradict.
  Scheduler(const SchedulerOptions& options, BlockTables& tables);

  /// `sequence` waits. It must fit the cache alone, and stay where it is until removed.
  void Add(Sequence& sequence);
  /// Adds one with the prompt and salt of `first`, which was added before it and not removed, and
  /// outranks it: the prompt is computed once.
  void AddSibling(Sequence& first, Sequence& sequence);
  /// Forgets the sequence, waiting or running, and frees its blocks.
  void Remove(Sequence& sequence);
  /// The latest step took so long, all in all; later chunks are cut, and drafts chosen, by what it
  /// teaches.
  void Learn(double seconds);
  /// The next step, empty only if there are no sequences. Valid until the next call. Sequences of
  /// the plan may be removed before the step is committed. Drafts get what is left of budget and
  /// blocks once all else has its share, and give up before the next step what did not come true:
  /// they hold nobody up and preempt nobody.
  const StepPlan& Plan(bool with_drafts = true);
  /// The step has computed the own tokens of `slice`.
  void Commit(const PlannedSlice& slice);
  /// The step has sampled the last `sampled` tokens of a decode, by now appended: all but the last
  /// of them came as drafted. Follows Commit.
  void CommitDrafts(const PlannedSlice& slice, int32_t sampled);
  /// What the step computed of a running sequence does not count, nor does what it left in the
  /// cache: it waits, computes again what others can't find, and gets no drafts any more.
  void TakeBack(Sequence& sequence);

  /// When `sequence`, which waits, is likely to have its tokens; none before enough steps were
  /// timed for that to be known.
  std::optional<Forecast> ForecastOf(Sequence& sequence);
  const StepTimeModel& step_times() const { return step_times_; }
  const std::vector<Sequence*>& running() const { return running_; }
  int32_t num_running() const { return static_cast<int32_t>(running_.size()); }
  int32_t num_waiting() const { return static_cast<int32_t>(waiting_.size()); }

 private:
  struct Rank {
    bool operator()(const Sequence* a, const Sequence* b) const { return a->Before(*b); }
  };

  /// What a waiting sequence need not compute: blocks to share, and with a `source`, whose they
  /// are, the part of a block to copy.
  struct Start {
    std::span<const int32_t> blocks;
    int32_t tokens = 0;
    const Sequence* source = nullptr;
  };

  StepBudget MakeBudget() const;
  void GatherWishes(const StepBudget& budget);
  void GatherWaiting(const StepBudget& budget);
  void ScheduleRunning();
  void AdmitWaiting();
  Start FindStart(Sequence& sequence);
  ForecastSequence Sketch(Sequence& sequence, bool look_up);
  int32_t WantedAfter(const Sequence& sequence, int32_t computed) const;
  void Admit(Sequence& sequence, const Start& start);
  int32_t NumNeeded(const Sequence& sequence, std::span<const int32_t> prefix) const;
  int32_t NumSpare() const;
  int32_t GrowOrPreempt(size_t index, int32_t count);
  bool PreemptAfter(size_t index);
  void Preempt(size_t index);
  void Requeue(size_t index);
  void AddDrafts();
  void AddSlice(Sequence& sequence, int32_t count);

  const SchedulerOptions options_;
  BlockTables& tables_;
  std::set<Sequence*, Rank> waiting_;
  std::vector<Sequence*> running_;  // in order of rank
  PromptGroups groups_;
  StepTimeModel step_times_;
  DraftPlanner drafts_;
  std::vector<PrefillWish> wishes_;  // of the step being planned, in order of rank
  StepPlan plan_;
};

}  // namespace affine
