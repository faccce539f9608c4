#include "server/scheduler/scheduler.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace affine {

Scheduler::Scheduler(const SchedulerOptions& options, BlockTables& tables)
    : options_(options), tables_(tables) {
  if (options.max_num_seqs < 1) {
    throw std::invalid_argument("max_num_seqs is " + std::to_string(options.max_num_seqs) +
                                "; it must be at least 1");
  }
  if (options.max_num_batched_tokens < options.max_num_seqs) {
    throw std::invalid_argument(
        "max_num_batched_tokens is " + std::to_string(options.max_num_batched_tokens) +
        ", below max_num_seqs, which is " + std::to_string(options.max_num_seqs) +
        "; each running sequence needs one token a step: raise the first or lower the second");
  }
  if (options.max_prefill_tokens_beside_decodes < 0) {
    throw std::invalid_argument("max_prefill_tokens_beside_decodes is " +
                                std::to_string(options.max_prefill_tokens_beside_decodes) +
                                "; it must be at least 0, which means no bound");
  }
}

void Scheduler::Add(Sequence& sequence) {
  sequence.state = Sequence::State::kWaiting;
  waiting_.insert(&sequence);
}

void Scheduler::Remove(Sequence& sequence) {
  if (sequence.state == Sequence::State::kWaiting) {
    waiting_.erase(&sequence);
    return;
  }
  running_.erase(std::ranges::find(running_, &sequence));
  tables_.Release(sequence);
}

const StepPlan& Scheduler::Plan() {
  plan_.Clear();
  const auto decodes = std::ranges::count_if(running_, &Sequence::decoding);
  StepBudget budget(options_.max_num_batched_tokens, static_cast<int32_t>(decodes),
                    options_.max_prefill_tokens_beside_decodes);
  ScheduleRunning(budget);
  // What was just taken from a sequence must not be given to one that ranks no better.
  if (plan_.preempted.empty()) AdmitWaiting(budget);
  std::ranges::stable_partition(plan_.slices, &PlannedSlice::decode);
  return plan_;
}

void Scheduler::ScheduleRunning(StepBudget& budget) {
  for (size_t i = 0; i < running_.size(); ++i) {  // preemption takes from the end only
    Sequence& sequence = *running_[i];
    if (sequence.decoding()) {
      if (GrowOrPreempt(i, 1) == 1) AddSlice(sequence, 1);
      continue;
    }
    const int32_t wanted = std::min(sequence.num_uncomputed(), budget.for_prefill());
    if (wanted == 0) continue;
    const int32_t count = GrowOrPreempt(i, wanted);
    if (count == 0) continue;
    AddSlice(sequence, count);
    budget.TakePrefill(count);
  }
}

void Scheduler::AdmitWaiting(StepBudget& budget) {
  while (!waiting_.empty() && num_running() < options_.max_num_seqs && budget.for_prefill() > 0) {
    Sequence& sequence = **waiting_.begin();
    const std::span<const int32_t> prefix = tables_.FindPrefix(sequence);
    if (!HasRoomFor(sequence, prefix)) return;
    tables_.AttachPrefix(sequence, prefix);
    const int32_t cached = sequence.num_computed;
    const int32_t count =
        tables_.Grow(sequence, std::min(sequence.num_uncomputed(), budget.for_prefill()));
    waiting_.erase(waiting_.begin());
    sequence.state = Sequence::State::kRunning;
    running_.insert(std::ranges::upper_bound(running_, &sequence, Rank()), &sequence);
    const int32_t looked_up = tables_.LooksUp(sequence) ? sequence.length() : 0;
    plan_.admitted.push_back({&sequence, looked_up, cached});
    AddSlice(sequence, count);
    budget.TakePrefill(count);
  }
}

// Blocks are allocated chunk by chunk, but a sequence is let in only when all of its tokens have
// room beside what running sequences have still to prefill and one more block for each of them:
// else it would soon be preempted. Alone, it always has room.
bool Scheduler::HasRoomFor(const Sequence& sequence, std::span<const int32_t> prefix) const {
  if (running_.empty()) return true;
  const BlockPool& pool = tables_.pool();
  int32_t needed = tables_.NumMissing(sequence) - static_cast<int32_t>(prefix.size()) +
                   tables_.NumUnreferenced(prefix) + num_running();
  for (const Sequence* other : running_) needed += tables_.NumMissing(*other);
  return needed <= pool.num_free();
}

// How many of the next `count` tokens of the sequence at `index` have blocks, others having made
// way for at least one if need be.
int32_t Scheduler::GrowOrPreempt(size_t index, int32_t count) {
  Sequence& sequence = *running_[index];
  int32_t granted = tables_.Grow(sequence, count);
  while (granted == 0 && PreemptAfter(index)) granted = tables_.Grow(sequence, count);
  return granted;
}

// Preempts the last in rank that frees a block by it. Blocks that several sequences share are freed
// only by preempting all of these, which is done for the first in rank alone: it must advance.
bool Scheduler::PreemptAfter(size_t index) {
  for (size_t victim = running_.size() - 1; victim > index; --victim) {
    if (tables_.NumExclusive(*running_[victim]) == 0) continue;
    Preempt(victim);
    return true;
  }
  if (index > 0 || running_.size() == 1) return false;
  Preempt(running_.size() - 1);
  return true;
}

void Scheduler::Preempt(size_t index) {
  Sequence& sequence = *running_[index];
  running_.erase(running_.begin() + static_cast<ptrdiff_t>(index));
  tables_.Release(sequence);
  Add(sequence);
  plan_.preempted.push_back(&sequence);
}

void Scheduler::AddSlice(Sequence& sequence, int32_t count) {
  plan_.slices.push_back({.sequence = &sequence,
                          .start = sequence.num_computed,
                          .count = count,
                          .decode = sequence.decoding()});
}

void Scheduler::Commit(const PlannedSlice& slice) {
  tables_.MarkComputed(*slice.sequence, slice.count);
}

}  // namespace affine
