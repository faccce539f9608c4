#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "server/scheduler/scheduler.h"
#include "tests/support/block_invariants.h"

namespace affine {
namespace {

// Drives a scheduler with random sequences, removals and pools; no model.
class RandomLoad {
 public:
  explicit RandomLoad(uint32_t seed)
      : random_(seed),
        block_size_(1 + Below(5)),
        num_blocks_(8 + Below(24)),
        max_num_seqs_(1 + Below(8)),
        max_num_batched_tokens_(max_num_seqs_ + Below(20)),
        granule_(1 + Below(5)),
        pool_(num_blocks_, block_size_),
        tables_(pool_, hasher_, seed % 3 != 0),
        scheduler_({.max_num_batched_tokens = max_num_batched_tokens_,
                    .max_num_seqs = max_num_seqs_,
                    .max_prefill_tokens_beside_decodes = Below(2) * (1 + Below(4)),
                    .max_decode_stall_seconds = Below(2) * 0.02 * Below(4),
                    .prefill_granule = granule_,
                    .drafts = {.max_tokens = Below(6), .longest_match = 2, .shortest_match = 1}},
                   tables_) {}

  void Run(int sequences) {
    while (added_ < sequences || !alive_.empty()) {
      for (int i = Below(3); i > 0 && added_ < sequences; --i) AddOne();
      if (!alive_.empty() && Below(8) == 0) Remove(*alive_[Below(alive_.size())]);
      Step();
      ASSERT_EQ(BrokenBlockInvariant(pool_, scheduler_), "");
      ASSERT_LT(++steps_, 100000);
    }
    EXPECT_EQ(pool_.num_used(), 0);
    EXPECT_EQ(scheduler_.num_running() + scheduler_.num_waiting(), 0);
  }

 private:
  int32_t Below(size_t bound) { return static_cast<int32_t>(random_() % bound); }

  void AddOne() {
    auto sequence = std::make_unique<Sequence>();
    const int32_t capacity = block_size_ * num_blocks_;
    sequence->id = ++added_;
    sequence->priority = Below(3);
    sequence->prompt_length = 1 + Below(capacity - 1);
    sequence->max_length = sequence->prompt_length + Below(capacity - sequence->prompt_length + 1);
    const int32_t family = Below(3);
    for (int32_t i = 0; i < sequence->prompt_length; ++i) {
      sequence->tokens.push_back(i % 11 == 10 ? Below(2) : family);
    }
    scheduler_.Add(*sequence);
    alive_.push_back(std::move(sequence));
  }

  void Remove(Sequence& sequence) {
    scheduler_.Remove(sequence);
    std::erase_if(alive_, [&](const auto& other) { return other.get() == &sequence; });
  }

  void Step() {
    const StepPlan& plan = scheduler_.Plan();
    ASSERT_EQ(plan.slices.empty(), alive_.empty());
    if (plan.slices.empty()) return;
    ASSERT_EQ(plan.slices.size() <= static_cast<size_t>(max_num_seqs_), true);
    const Sequence* head = scheduler_.running().front();
    ASSERT_TRUE(std::ranges::any_of(plan.slices, [&](const PlannedSlice& slice) {
      return slice.sequence == head && slice.count > 0;
    })) << "the first in rank stands still";
    ExpectWithinLimits(plan);
    std::vector<Sequence*> finished;
    for (const PlannedSlice& slice : plan.slices) {
      const bool sample = slice.sample();
      if (slice.num_drafts > 0 && Below(50) == 0) {
        scheduler_.TakeBack(*slice.sequence);
        continue;
      }
      scheduler_.Commit(slice);
      if (sample) Sample(slice);
      if (slice.sequence->length() == slice.sequence->max_length &&
          slice.sequence->num_uncomputed() <= (sample ? 1 : 0)) {
        finished.push_back(slice.sequence);
      }
    }
    scheduler_.Learn(0.001 * Below(100));
    for (Sequence* sequence : finished) Remove(*sequence);
  }

  // A step holds no more tokens than it may, and decodes come first.
  void ExpectWithinLimits(const StepPlan& plan) const {
    int32_t tokens = 0;
    for (const PlannedSlice& slice : plan.slices) {
      ASSERT_GT(slice.count, 0);
      ASSERT_LE(slice.end(), slice.sequence->length());
      tokens += slice.count + slice.num_drafts;
    }
    ASSERT_LE(tokens, max_num_batched_tokens_);
    const auto prefill = std::ranges::find(plan.slices, false, &PlannedSlice::decode);
    for (auto slice = plan.slices.begin(); slice != plan.slices.end(); ++slice) {
      ASSERT_EQ(slice->decode, slice < prefill);
    }
  }

  // Drafts come true as often as not.
  void Sample(const PlannedSlice& slice) {
    Sequence& sequence = *slice.sequence;
    int32_t sampled = 0;
    bool hit = true;
    while (hit && sampled <= slice.num_drafts) {
      const auto guess = static_cast<size_t>(sampled++);
      hit = guess < sequence.guesses.size() && Below(4) > 0;
      sequence.tokens.push_back(hit ? sequence.guesses[guess] : 3 + Below(3));
    }
    ASSERT_LE(sequence.length(), sequence.max_length);
    if (slice.decode) scheduler_.CommitDrafts(slice, sampled);
  }

  std::mt19937 random_;
  const int32_t block_size_;
  const int32_t num_blocks_;
  const int32_t max_num_seqs_;
  const int32_t max_num_batched_tokens_;
  const int32_t granule_;
  const PrefixHasher hasher_{{3, 4}};
  BlockPool pool_;
  BlockTables tables_;
  Scheduler scheduler_;
  std::vector<std::unique_ptr<Sequence>> alive_;
  int added_ = 0;
  int steps_ = 0;
};

TEST(SchedulerStressTest, RandomLoadsKeepEveryInvariantAndLoseNoBlock) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomLoad(seed).Run(60);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace affine
