#include "server/scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/block_invariants.h"

namespace affine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// (id, start, count) of each slice.
using Slices = std::vector<std::tuple<uint64_t, int32_t, int32_t>>;

class SchedulerTest : public testing::Test {
 protected:
  void Use(int32_t num_blocks, int32_t block_size, SchedulerOptions options,
           bool prefix_caching = false) {
    scheduler_.reset();
    pool_.emplace(num_blocks, block_size);
    tables_.emplace(*pool_, hasher_, prefix_caching);
    scheduler_.emplace(options, *tables_);
  }

  // Ids ascend from 1. The prompt's tokens differ between sequences unless `first_token` is given.
  Sequence& Add(int32_t prompt, int32_t output, int32_t priority = 0, int32_t first_token = -1) {
    Sequence& sequence = sequences_.emplace_back();
    sequence.id = sequences_.size();
    sequence.priority = priority;
    sequence.prompt_length = prompt;
    sequence.max_length = prompt + output;
    const int32_t first =
        first_token >= 0 ? first_token : 1000 * static_cast<int32_t>(sequences_.size());
    for (int32_t i = 0; i < prompt; ++i) sequence.tokens.push_back(first + i);
    scheduler_->Add(sequence);
    return sequence;
  }

  const StepPlan& Plan() {
    const StepPlan& plan = scheduler_->Plan();
    slices_.clear();
    for (const PlannedSlice& slice : plan.slices) {
      slices_.emplace_back(slice.sequence->id, slice.start, slice.count);
    }
    preempted_.clear();
    for (const Sequence* sequence : plan.preempted) preempted_.push_back(sequence->id);
    for (const Admission& admission : plan.admitted) {
      admitted_.emplace_back(admission.sequence->id, admission.cached_tokens);
    }
    return plan;
  }

  void ExhaustPool() {
    while (pool_->Allocate()) continue;
  }

  // One whole step; sequences at their greatest length leave.
  const Slices& Step() {
    const StepPlan& plan = Plan();
    for (const PlannedSlice& slice : plan.slices) {
      const bool sample = slice.sample();
      const bool reached_end = slice.end() == slice.sequence->length();
      scheduler_->Commit(slice);
      if (sample) slice.sequence->tokens.push_back(7);
      if (reached_end && slice.sequence->length() == slice.sequence->max_length) {
        finished_.push_back(slice.sequence->id);
        scheduler_->Remove(*slice.sequence);
      }
    }
    EXPECT_EQ(BrokenBlockInvariant(*pool_, *scheduler_), "");
    return slices_;
  }

  const PrefixHasher hasher_{{1, 2}};
  std::deque<Sequence> sequences_;
  std::optional<BlockPool> pool_;
  std::optional<BlockTables> tables_;
  std::optional<Scheduler> scheduler_;
  Slices slices_;
  std::vector<uint64_t> preempted_;                     // in the last step
  std::vector<std::pair<uint64_t, int32_t>> admitted_;  // in all: (id, cached tokens)
  std::vector<uint64_t> finished_;
};

TEST_F(SchedulerTest, CutsAPromptIntoChunksOfTheBudget) {
  Use(16, 4, {.max_num_batched_tokens = 5, .max_num_seqs = 2});
  Add(12, 2);
  EXPECT_EQ(Step(), (Slices{{1, 0, 5}}));
  EXPECT_EQ(pool_->num_used(), 2);  // chunk by chunk
  EXPECT_EQ(Step(), (Slices{{1, 5, 5}}));
  EXPECT_EQ(Step(), (Slices{{1, 10, 2}}));
  EXPECT_EQ(Step(), (Slices{{1, 12, 1}}));
  EXPECT_THAT(finished_, ElementsAre(1));
  EXPECT_THAT(Step(), IsEmpty());
  EXPECT_EQ(pool_->num_used(), 0);
}

TEST_F(SchedulerTest, OnlyTheLastChunkSamples) {
  Use(16, 4, {.max_num_batched_tokens = 5, .max_num_seqs = 2});
  Add(8, 2);
  const PlannedSlice first = Plan().slices[0];
  EXPECT_FALSE(first.sample());
  scheduler_->Commit(first);
  EXPECT_TRUE(Plan().slices[0].sample());
}

TEST_F(SchedulerTest, WithoutOutputNothingIsSampled) {
  Use(16, 4, {.max_num_batched_tokens = 8, .max_num_seqs = 2});
  Add(8, 0);
  EXPECT_FALSE(Plan().slices[0].sample());
}

TEST_F(SchedulerTest, DecodesComeFirstAndPrefillGetsTheRest) {
  Use(64, 4, {.max_num_batched_tokens = 6, .max_num_seqs = 4});
  Add(20, 5);
  for (int i = 0; i < 3; ++i) Step();
  Add(1, 9);
  Add(1, 9);
  EXPECT_EQ(Step(), (Slices{{1, 18, 2}, {2, 0, 1}, {3, 0, 1}}));
  Add(30, 5, /*priority=*/-1);
  EXPECT_EQ(Step(), (Slices{{1, 20, 1}, {2, 1, 1}, {3, 1, 1}, {4, 0, 3}}));
  EXPECT_EQ(Step(), (Slices{{1, 21, 1}, {2, 2, 1}, {3, 2, 1}, {4, 3, 3}}));
}

TEST_F(SchedulerTest, PrefillBesideDecodesIsBoundedByOption) {
  Use(64, 4,
      {.max_num_batched_tokens = 16, .max_num_seqs = 4, .max_prefill_tokens_beside_decodes = 3});
  Add(16, 5);
  EXPECT_EQ(Step(), (Slices{{1, 0, 16}}));
  Add(16, 5);
  EXPECT_EQ(Step(), (Slices{{1, 16, 1}, {2, 0, 3}}));
}

TEST_F(SchedulerTest, RunsAtMostMaxNumSeqs) {
  Use(64, 4, {.max_num_batched_tokens = 64, .max_num_seqs = 2});
  for (int i = 0; i < 3; ++i) Add(2, 2);
  EXPECT_EQ(Step(), (Slices{{1, 0, 2}, {2, 0, 2}}));
  EXPECT_EQ(scheduler_->num_running(), 2);
  EXPECT_EQ(scheduler_->num_waiting(), 1);
  Step();
  EXPECT_EQ(Step(), (Slices{{3, 0, 2}}));
}

TEST_F(SchedulerTest, AdmitsByPriorityThenArrival) {
  Use(64, 4, {.max_num_batched_tokens = 64, .max_num_seqs = 1});
  Add(2, 1, 5);
  Add(2, 1, 0);
  Add(2, 1, -3);
  Add(2, 1, 0);
  for (int i = 0; i < 4; ++i) Step();
  EXPECT_THAT(finished_, ElementsAre(3, 2, 4, 1));
}

TEST_F(SchedulerTest, APrefixHitSkipsWholeBlocksButNotTheLastToken) {
  Use(64, 4, {.max_num_batched_tokens = 64, .max_num_seqs = 4}, true);
  Add(12, 1, 0, 500);
  Step();
  Add(12, 1, 0, 500);
  const StepPlan& plan = Plan();
  EXPECT_EQ(slices_, (Slices{{2, 8, 4}}));
  ASSERT_EQ(plan.admitted.size(), 1u);
  EXPECT_EQ(plan.admitted[0].looked_up_tokens, 12);
  EXPECT_EQ(plan.admitted[0].cached_tokens, 8);
}

TEST_F(SchedulerTest, PreemptsTheYoungestWhenBlocksRunOut) {
  Use(6, 2, {.max_num_batched_tokens = 16, .max_num_seqs = 4});
  Add(2, 7);
  Add(2, 7);
  EXPECT_EQ(Step(), (Slices{{1, 0, 2}, {2, 0, 2}}));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Step().size(), 2u);
  EXPECT_EQ(pool_->num_free(), 0);
  EXPECT_EQ(Step(), (Slices{{1, 6, 1}}));
  EXPECT_THAT(preempted_, ElementsAre(2));
  EXPECT_TRUE(sequences_[1].blocks.empty());
  EXPECT_EQ(scheduler_->num_waiting(), 1);
  while (finished_.size() < 2) ASSERT_FALSE(Step().empty());
  EXPECT_THAT(finished_, ElementsAre(1, 2));
  EXPECT_EQ(pool_->num_used(), 0);
}

TEST_F(SchedulerTest, PreemptsTheLowestPriorityFirstWhateverItsAge) {
  Use(6, 2, {.max_num_batched_tokens = 16, .max_num_seqs = 4});
  Add(2, 7, /*priority=*/3);
  Add(2, 7, /*priority=*/0);
  while (preempted_.empty()) ASSERT_FALSE(Step().empty());
  EXPECT_THAT(preempted_, ElementsAre(1));
}

TEST_F(SchedulerTest, APreemptedSequenceGoesBackToTheHeadOfItsClass) {
  Use(6, 2, {.max_num_batched_tokens = 16, .max_num_seqs = 2});
  Add(2, 7);
  Add(2, 7);
  Step();
  Add(2, 1);
  while (preempted_.empty()) ASSERT_FALSE(Step().empty());
  EXPECT_THAT(preempted_, ElementsAre(2));
  while (finished_.size() < 3) ASSERT_FALSE(Step().empty());
  EXPECT_THAT(admitted_, ElementsAre(Pair(1, 0), Pair(2, 0), Pair(2, 0), Pair(3, 0)));
}

TEST_F(SchedulerTest, APreemptedSequenceFindsItsBlocksAgain) {
  Use(8, 2, {.max_num_batched_tokens = 16, .max_num_seqs = 4}, true);
  Add(2, 9);
  Add(6, 7);
  while (preempted_.empty()) ASSERT_FALSE(Step().empty());
  EXPECT_THAT(preempted_, ElementsAre(2));
  while (finished_.size() < 2) ASSERT_FALSE(Step().empty());
  ASSERT_EQ(admitted_.size(), 3u);
  EXPECT_EQ(admitted_[2].first, 2u);
  EXPECT_EQ(admitted_[2].second, 6);  // its first three blocks outlived the oldest's growth
}

TEST_F(SchedulerTest, PassesOverWhoFreesNoBlock) {
  Use(32, 2, {.max_num_batched_tokens = 32, .max_num_seqs = 4}, true);
  Add(3, 8);
  Add(7, 8, 0, 500);
  Step();
  Add(6, 8, 0, 500);
  Step();
  EXPECT_EQ(tables_->NumExclusive(sequences_[1]), 1);
  EXPECT_EQ(tables_->NumExclusive(sequences_[2]), 0);
  ExhaustPool();
  Plan();
  EXPECT_THAT(preempted_, ElementsAre(2));
  EXPECT_EQ(slices_, (Slices{{1, 4, 1}}));  // and the third waits for a block, its own kept
}

TEST_F(SchedulerTest, TheFirstInRankPreemptsAllWhoShareBlocks) {
  Use(32, 2, {.max_num_batched_tokens = 32, .max_num_seqs = 4}, true);
  Add(4, 8);
  Add(6, 8, 0, 500);
  Add(6, 8, 0, 500);
  Step();
  EXPECT_EQ(tables_->NumExclusive(sequences_[1]) + tables_->NumExclusive(sequences_[2]), 0);
  ExhaustPool();
  Plan();
  EXPECT_THAT(preempted_, ElementsAre(3, 2));
  EXPECT_EQ(slices_, (Slices{{1, 4, 1}}));
}

TEST_F(SchedulerTest, OthersPreemptNobodyInVain) {
  Use(32, 2, {.max_num_batched_tokens = 32, .max_num_seqs = 4}, true);
  Add(3, 8);
  Add(4, 8);
  Add(6, 8, 0, 500);
  Add(6, 8, 0, 500);
  Step();
  ExhaustPool();
  Plan();
  EXPECT_THAT(preempted_, IsEmpty());
  EXPECT_EQ(slices_, (Slices{{1, 3, 1}}));
}

TEST_F(SchedulerTest, TheOldestAdvancesInEveryStep) {
  Use(10, 2, {.max_num_batched_tokens = 6, .max_num_seqs = 6}, true);
  for (int i = 0; i < 12; ++i) Add(1 + 3 * (i % 4), 4 + i % 7, 0, i % 2 == 0 ? 500 : -1);
  for (int step = 0; finished_.size() < 12; ++step) {
    ASSERT_LT(step, 1000);
    const size_t oldest = [&] {
      for (size_t id = 1;; ++id) {
        if (std::ranges::find(finished_, id) == finished_.end()) return id;
      }
    }();
    bool advanced = false;
    for (const auto& [id, start, count] : Step()) advanced |= id == oldest && count > 0;
    ASSERT_TRUE(advanced) << "sequence " << oldest;
  }
}

TEST_F(SchedulerTest, AdmitsOnlyWhatHasRoomBesideTheRunning) {
  Use(8, 2, {.max_num_batched_tokens = 4, .max_num_seqs = 4});
  Add(10, 2);
  Add(8, 2);
  EXPECT_EQ(Step(), (Slices{{1, 0, 4}}));
  EXPECT_EQ(Step(), (Slices{{1, 4, 4}}));
  EXPECT_EQ(Step(), (Slices{{1, 8, 2}}));  // two tokens left, but no room for eight
  EXPECT_EQ(scheduler_->num_waiting(), 1);
}

TEST_F(SchedulerTest, RemovalFreesBlocksAtOnce) {
  Use(8, 2, {.max_num_batched_tokens = 16, .max_num_seqs = 1});
  Sequence& running = Add(6, 2);
  Sequence& waiting = Add(6, 2);
  Step();
  EXPECT_EQ(pool_->num_used(), 3);
  scheduler_->Remove(waiting);
  scheduler_->Remove(running);
  EXPECT_EQ(pool_->num_used(), 0);
  EXPECT_EQ(scheduler_->num_running() + scheduler_->num_waiting(), 0);
  EXPECT_THAT(Step(), IsEmpty());
}

std::string WhyRefused(const SchedulerOptions& options) {
  const PrefixHasher hasher({});
  BlockPool pool(4, 4);
  BlockTables tables(pool, hasher, true);
  try {
    Scheduler scheduler(options, tables);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SchedulerOptionsTest, ContradictionsAreNamed) {
  EXPECT_EQ(WhyRefused({.max_num_batched_tokens = 4, .max_num_seqs = 4}), "accepted");
  EXPECT_THAT(WhyRefused({.max_num_batched_tokens = 128, .max_num_seqs = 256}),
              HasSubstr("max_num_batched_tokens is 128, below max_num_seqs, which is 256"));
  EXPECT_THAT(WhyRefused({.max_num_batched_tokens = 4, .max_num_seqs = 0}),
              HasSubstr("max_num_seqs is 0"));
  EXPECT_THAT(WhyRefused({.max_num_batched_tokens = 4,
                          .max_num_seqs = 4,
                          .max_prefill_tokens_beside_decodes = -1}),
              HasSubstr("max_prefill_tokens_beside_decodes is -1"));
  EXPECT_THAT(WhyRefused({.max_num_batched_tokens = 4,
                          .max_num_seqs = 4,
                          .max_decode_stall_seconds = std::nan("")}),
              HasSubstr("max_decode_stall_seconds is nan"));
  EXPECT_THAT(WhyRefused({.max_num_batched_tokens = 4, .max_num_seqs = 4, .prefill_granule = 0}),
              HasSubstr("prefill_granule is 0"));
}

}  // namespace
}  // namespace affine
