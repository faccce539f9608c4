#include "server/scheduler/scheduler.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace affine {

Scheduler::Scheduler(const SchedulerOptions& options, BlockTables& tables)
    : options_(options), tables_(tables), drafts_(options.drafts, tables, step_times_) {
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
  if (!(options.max_decode_stall_seconds >= 0.0)) {
    throw std::invalid_argument("max_decode_stall_seconds is " +
                                std::to_string(options.max_decode_stall_seconds) +
                                "; it must be at least 0, which means no bound");
  }
  if (options.prefill_granule < 1) {
    throw std::invalid_argument("prefill_granule is " + std::to_string(options.prefill_granule) +
                                "; it must be at least 1");
  }
}

void Scheduler::Add(Sequence& sequence) {
  sequence.state = Sequence::State::kWaiting;
  waiting_.insert(&sequence);
}

void Scheduler::AddSibling(Sequence& first, Sequence& sequence) {
  groups_.Join(first, sequence);
  Add(sequence);
}

void Scheduler::Remove(Sequence& sequence) {
  groups_.Leave(sequence);
  if (sequence.state == Sequence::State::kWaiting) {
    waiting_.erase(&sequence);
    return;
  }
  running_.erase(std::ranges::find(running_, &sequence));
  tables_.Release(sequence);
}

const StepPlan& Scheduler::Plan(bool with_drafts) {
  plan_.Clear();
  const StepBudget budget = MakeBudget();
  GatherWishes(budget);
  SharePrefill(wishes_, budget, options_.prefill_granule);
  for (const PrefillWish& wish : wishes_) wish.sequence->prefill_share = wish.share;
  ScheduleRunning();
  // What was just taken from a sequence must not be given to one that ranks no better.
  if (plan_.preempted.empty()) AdmitWaiting();
  std::ranges::stable_partition(plan_.slices, &PlannedSlice::decode);
  // Nor to drafts: what was taken can be found again as long as it is not written over.
  if (with_drafts && plan_.preempted.empty()) AddDrafts();
  return plan_;
}

StepBudget Scheduler::MakeBudget() const {
  StepWork decodes;
  for (const Sequence* sequence : running_) {
    if (sequence->decoding()) decodes.AddDecode(sequence->num_computed, 1);
  }
  return StepBudget({.max_tokens = options_.max_num_batched_tokens,
                     .prefill_cap = options_.max_prefill_tokens_beside_decodes,
                     .max_seconds = options_.max_decode_stall_seconds},
                    decodes, step_times_);
}

void Scheduler::GatherWishes(const StepBudget& budget) {
  wishes_.clear();
  for (Sequence* sequence : running_) {
    if (sequence->decoding()) continue;
    wishes_.push_back(
        {sequence, sequence->num_computed, WantedAfter(*sequence, sequence->num_computed)});
  }
  GatherWaiting(budget);
  std::ranges::sort(wishes_, Rank(), &PrefillWish::sequence);
}

// Of the waiting, those that have room beside the running ones and those before them. Short ones
// may be let in past long ones, but not past one that has no room. Once there are enough to fill
// the step, a few more are looked at for the sake of short ones behind long ones, until short ones
// alone would fill it.
void Scheduler::GatherWaiting(const StepBudget& budget) {
  constexpr size_t kLookAhead = 16;
  const int32_t tokens = budget.Fit(0, budget.for_prefill(), 1);
  const size_t slots = options_.max_num_seqs - num_running();
  int32_t spare = NumSpare();
  int64_t all_tokens = 0, short_tokens = 0;
  for (const PrefillWish& wish : wishes_) all_tokens += wish.wanted;
  for (size_t looked = 0; Sequence * sequence : waiting_) {
    if (looked == slots || (looked > 0 && short_tokens >= tokens)) return;
    if (looked >= kLookAhead && all_tokens >= tokens) return;
    if (groups_.MustWait(*sequence)) continue;
    const Start start = FindStart(*sequence);
    const int32_t needed = NumNeeded(*sequence, start.blocks);
    const bool alone = running_.empty() && looked == 0;
    if (needed > spare && !alone) return;
    spare -= needed + 1;
    ++looked;
    const int32_t wanted = WantedAfter(*sequence, start.tokens);
    all_tokens += wanted;
    if (wanted <= tokens / 2) short_tokens += wanted;
    wishes_.push_back({sequence, start.tokens, wanted});
  }
}

ForecastSequence Scheduler::Sketch(Sequence& sequence, bool look_up) {
  int32_t computed = sequence.num_computed;
  if (sequence.state == Sequence::State::kWaiting) {
    if (groups_.MustWait(sequence)) {
      computed = sequence.prompt_length - 1;
    } else if (look_up) {
      computed = FindStart(sequence).tokens;
    }
  }
  return {.length = sequence.length(),
          .computed = computed,
          .to_come = sequence.max_length - sequence.length(),
          .decoding = sequence.decoding()};
}

std::optional<Forecast> Scheduler::ForecastOf(Sequence& sequence) {
  constexpr int64_t kLeastSteps = 8;
  if (step_times_.learned() < kLeastSteps) return std::nullopt;
  std::vector<ForecastSequence> running, ahead;
  for (Sequence* other : running_) running.push_back(Sketch(*other, false));
  for (Sequence* other : waiting_) {
    if (!other->Before(sequence)) break;
    ahead.push_back(Sketch(*other, false));
  }
  return ForecastFor(Sketch(sequence, true), running, ahead,
                     {.max_num_seqs = options_.max_num_seqs,
                      .max_tokens = options_.max_num_batched_tokens,
                      .max_seconds = options_.max_decode_stall_seconds,
                      .granule = options_.prefill_granule},
                     step_times_);
}

// The prompt's last token waits for a step of its own while siblings wait: they fork before it, and
// so even from one that ends with its first token.
int32_t Scheduler::WantedAfter(const Sequence& sequence, int32_t computed) const {
  const int32_t left = sequence.length() - computed;
  return left > 1 && groups_.IsAwaited(sequence) ? left - 1 : left;
}

Scheduler::Start Scheduler::FindStart(Sequence& sequence) {
  const int32_t size = tables_.pool().block_size();
  const std::span<const int32_t> prefix = tables_.FindPrefix(sequence);
  const int32_t cached = static_cast<int32_t>(prefix.size()) * size;
  const Sequence* source = groups_.SourceOf(sequence);
  const int32_t shared = sequence.prompt_length - 1;
  if (source == nullptr || shared <= cached) return {prefix, cached, nullptr};
  return {std::span(source->blocks).first(static_cast<size_t>(shared / size)), shared, source};
}

void Scheduler::ScheduleRunning() {
  for (size_t i = 0; i < running_.size(); ++i) {  // preemption takes from the end only
    Sequence& sequence = *running_[i];
    const bool decoding = sequence.decoding();
    const int32_t wanted = decoding ? 1 : sequence.prefill_share;
    if (wanted == 0) continue;
    const int32_t count = GrowOrPreempt(i, wanted);
    if (count > 0) AddSlice(sequence, count);
  }
}

void Scheduler::AdmitWaiting() {
  for (const PrefillWish& wish : wishes_) {
    Sequence& sequence = *wish.sequence;
    if (sequence.state != Sequence::State::kWaiting || wish.share == 0) continue;
    const Start start = FindStart(sequence);
    if (!running_.empty() && NumNeeded(sequence, start.blocks) > NumSpare()) return;
    Admit(sequence, start);
  }
}

void Scheduler::Admit(Sequence& sequence, const Start& start) {
  const size_t whole = start.blocks.size();
  if (start.source != nullptr) {
    tables_.AttachFork(sequence, *start.source, start.tokens);
  } else {
    tables_.AttachPrefix(sequence, start.blocks);
  }
  const int32_t count = tables_.Grow(sequence, sequence.prefill_share);
  waiting_.erase(&sequence);
  sequence.state = Sequence::State::kRunning;
  running_.insert(std::ranges::upper_bound(running_, &sequence, Rank()), &sequence);
  if (start.source != nullptr) {
    if (start.tokens % tables_.pool().block_size() != 0) {
      plan_.copies.push_back({start.source->blocks[whole], sequence.blocks[whole]});
    }
    plan_.admitted.push_back({.sequence = &sequence, .forked_tokens = start.tokens});
  } else {
    const int32_t looked_up = tables_.LooksUp(sequence) ? sequence.length() : 0;
    plan_.admitted.push_back({&sequence, looked_up, start.tokens});
  }
  AddSlice(sequence, count);
}

// Blocks are allocated chunk by chunk, but a sequence is let in only when all of its tokens have
// room beside what running sequences have still to prefill and one more block for each of them:
// else it would soon be preempted. Alone, it always has room.
int32_t Scheduler::NumNeeded(const Sequence& sequence, std::span<const int32_t> prefix) const {
  return tables_.NumMissing(sequence) - static_cast<int32_t>(prefix.size()) +
         tables_.NumUnreferenced(prefix);
}

int32_t Scheduler::NumSpare() const {
  int32_t spare = tables_.pool().num_free() - num_running();
  for (const Sequence* sequence : running_) spare -= tables_.NumMissing(*sequence);
  return spare;
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
  plan_.preempted.push_back(running_[index]);
  Requeue(index);
}

void Scheduler::Requeue(size_t index) {
  Sequence& sequence = *running_[index];
  running_.erase(running_.begin() + static_cast<ptrdiff_t>(index));
  tables_.Release(sequence);
  Add(sequence);
}

void Scheduler::AddDrafts() {
  int32_t budget = options_.max_num_batched_tokens;
  for (const PlannedSlice& slice : plan_.slices) budget -= slice.count;
  drafts_.AddDrafts(plan_, budget);
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

// The plan's sequences may be gone by now.
void Scheduler::Learn(double seconds) {
  StepWork work;
  for (const PlannedSlice& slice : plan_.slices) {
    if (slice.decode) {
      work.AddDecode(slice.start, slice.count + slice.num_drafts);
    } else {
      work.AddPrefill(slice.start, slice.count);
    }
  }
  step_times_.Learn(work, seconds);
}

void Scheduler::CommitDrafts(const PlannedSlice& slice, int32_t sampled) {
  Sequence& sequence = *slice.sequence;
  tables_.MarkComputed(sequence, sampled - 1);
  tables_.Trim(sequence);
  drafts_.Learn(sequence, sampled);
}

void Scheduler::TakeBack(Sequence& sequence) {
  sequence.may_draft = false;
  sequence.guesses.clear();
  Requeue(static_cast<size_t>(std::ranges::find(running_, &sequence) - running_.begin()));
}

}  // namespace affine
