#include "server/scheduler/draft_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <stdexcept>
#include <vector>

#include "server/scheduler/scheduler.h"
#include "tests/support/block_invariants.h"

namespace affine {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Sequences that say 0 1 2 3 over and over, unless a test decides otherwise, on blocks of four.
class DraftPlannerTest : public testing::Test {
 protected:
  void Use(int32_t num_blocks, SchedulerOptions options, int32_t max_drafts = 5,
           bool prefix_caching = true) {
    options.drafts.max_tokens = max_drafts;
    scheduler_.reset();
    pool_.emplace(num_blocks, 4);
    tables_.emplace(*pool_, hasher_, prefix_caching);
    scheduler_.emplace(options, *tables_);
  }

  Sequence& Add(int32_t prompt, int32_t output, double hit_rate = 0.99) {
    Sequence& sequence = sequences_.emplace_back();
    sequence.id = sequences_.size();
    sequence.prompt_length = prompt;
    sequence.max_length = prompt + output;
    sequence.lookup_prefix = false;
    sequence.record = GuessRecord(hit_rate);
    for (int32_t i = 0; i < prompt; ++i) sequence.tokens.push_back(i % 4);
    scheduler_->Add(sequence);
    return sequence;
  }

  // Drafts of each slice of the plan.
  std::vector<int32_t> Plan(bool with_drafts = true) {
    plan_ = &scheduler_->Plan(with_drafts);
    std::vector<int32_t> drafts;
    for (const PlannedSlice& slice : plan_->slices) drafts.push_back(slice.num_drafts);
    return drafts;
  }

  // Commits the plan: each sequence goes on as it said before, but that the draft number `wrong`
  // does not come true.
  void Commit(int32_t wrong = 1000) {
    for (const PlannedSlice& slice : plan_->slices) {
      Sequence& sequence = *slice.sequence;
      const bool samples = slice.sample();
      scheduler_->Commit(slice);
      if (!samples) continue;
      int32_t sampled = 0;
      do {
        const int32_t next = sequence.length() % 4;
        sequence.tokens.push_back(sampled == wrong ? 50 + next : next);
      } while (sampled++ < std::min(slice.num_drafts, wrong));
      if (slice.decode) scheduler_->CommitDrafts(slice, sampled);
      if (sequence.length() == sequence.max_length) scheduler_->Remove(sequence);
    }
    EXPECT_EQ(BrokenBlockInvariant(*pool_, *scheduler_), "");
  }

  std::vector<int32_t> Step(int32_t wrong = 1000) {
    const std::vector<int32_t> drafts = Plan();
    Commit(wrong);
    return drafts;
  }

  const PrefixHasher hasher_{{1, 2}};
  std::deque<Sequence> sequences_;
  std::optional<BlockPool> pool_;
  std::optional<BlockTables> tables_;
  std::optional<Scheduler> scheduler_;
  const StepPlan* plan_ = nullptr;
};

TEST_F(DraftPlannerTest, ASequenceThatRepeatsItselfGetsDraftsAfterItsOwnToken) {
  Use(16, {.max_num_batched_tokens = 64, .max_num_seqs = 2});
  const Sequence& sequence = Add(8, 20);
  EXPECT_THAT(Step(), ElementsAre(0));  // the prompt
  EXPECT_THAT(Plan(), ElementsAre(5));
  const PlannedSlice& slice = plan_->slices[0];
  EXPECT_EQ(slice.count, 1);
  EXPECT_EQ(slice.end(), 9);
  EXPECT_EQ(slice.num_samples(), 6);
  EXPECT_THAT(sequence.guesses, ElementsAre(1, 2, 3, 0, 1));
  Commit();
  EXPECT_EQ(sequence.length(), 15);
  EXPECT_EQ(sequence.num_computed, 14);
  EXPECT_THAT(sequence.guesses, IsEmpty());
}

TEST_F(DraftPlannerTest, NewTokensGetNone) {
  Use(16, {.max_num_batched_tokens = 64, .max_num_seqs = 2});
  Add(3, 20);
  EXPECT_THAT(Step(), ElementsAre(0));
  EXPECT_THAT(Step(), ElementsAre(0));  // 0 1 2 3 has nothing in common with itself
}

TEST_F(DraftPlannerTest, ADraftNeverReachesTheGreatestLength) {
  Use(16, {.max_num_batched_tokens = 64, .max_num_seqs = 2});
  const Sequence& sequence = Add(8, 4);
  Step();
  EXPECT_THAT(Step(), ElementsAre(2));  // and one more is sampled after these
  EXPECT_EQ(sequence.length(), 12);
  Use(16, {.max_num_batched_tokens = 64, .max_num_seqs = 2});
  Add(8, 2);
  Step();
  EXPECT_THAT(Step(), ElementsAre(0));
}

TEST_F(DraftPlannerTest, DraftsTakeWhatDecodesAndPrefillLeaveOfTheBudget) {
  Use(64, {.max_num_batched_tokens = 16, .max_num_seqs = 4});
  Add(8, 40);
  Add(8, 40);
  EXPECT_THAT(Step(), ElementsAre(0, 0));
  EXPECT_THAT(Step(), ElementsAre(5, 5));
  Add(30, 2);
  EXPECT_THAT(Step(), ElementsAre(0, 0, 0));  // 14 of 30
  EXPECT_THAT(Step(), ElementsAre(0, 0, 0));  // 28
  EXPECT_THAT(Step(), ElementsAre(5, 5, 0));  // 30
  EXPECT_THAT(Step(), ElementsAre(5, 5, 0));  // the third may not grow further
}

TEST_F(DraftPlannerTest, WithoutAFreeBlockDraftsStayInTheOnesThatAreThere) {
  Use(16, {.max_num_batched_tokens = 64, .max_num_seqs = 2});
  const Sequence& sequence = Add(8, 20);
  Step();
  const int32_t in_use = pool_->num_used();
  std::vector<int32_t> taken;
  while (pool_->num_free() > 1) taken.push_back(*pool_->Allocate());
  EXPECT_THAT(Plan(), ElementsAre(3));  // of positions 9..11; 8 is the sequence's own
  EXPECT_THAT(plan_->preempted, IsEmpty());
  EXPECT_EQ(pool_->num_free(), 0);
  for (const int32_t block : taken) pool_->Release(block);
  Commit();
  EXPECT_EQ(sequence.num_computed, 12);
  EXPECT_EQ(pool_->num_used(), in_use + 1);
}

TEST_F(DraftPlannerTest, WhatWasNotAcceptedGivesItsBlocksBackAtOnce) {
  Use(16, {.max_num_batched_tokens = 64, .max_num_seqs = 2}, 8);
  const Sequence& sequence = Add(8, 30);
  Step();
  EXPECT_THAT(Plan(), ElementsAre(8));  // positions 8..16
  EXPECT_EQ(sequence.blocks.size(), 5u);
  Commit(2);  // 9 and 10 came true, 11 did not
  EXPECT_EQ(sequence.num_computed, 11);
  EXPECT_EQ(sequence.length(), 12);
  EXPECT_EQ(sequence.blocks.size(), 3u);
  EXPECT_EQ(sequence.num_indexed, 2);  // the third block is not full of tokens that came
}

TEST_F(DraftPlannerTest, AcceptedDraftsFillBlocksThatOthersFind) {
  Use(16, {.max_num_batched_tokens = 64, .max_num_seqs = 2});
  const Sequence& sequence = Add(8, 30);
  Step();
  Step();
  EXPECT_EQ(sequence.num_computed, 14);
  EXPECT_EQ(sequence.num_indexed, 3);
  Sequence& other = Add(13, 2);
  other.lookup_prefix = true;
  Plan();
  ASSERT_EQ(plan_->admitted.size(), 1u);
  EXPECT_EQ(plan_->admitted[0].cached_tokens, 12);
}

TEST_F(DraftPlannerTest, AStepThatPreemptsHasNoDrafts) {
  Use(6, {.max_num_batched_tokens = 64, .max_num_seqs = 2}, 3, false);
  Add(11, 12);
  Add(7, 12);
  bool preempted = false;
  for (std::vector<int32_t> drafts = Plan(); !plan_->slices.empty(); drafts = Plan()) {
    if (!plan_->preempted.empty()) {
      preempted = true;
      EXPECT_THAT(drafts, Each(0));
    }
    Commit();
  }
  EXPECT_TRUE(preempted);
}

TEST_F(DraftPlannerTest, NoneForThoseThatMayNotAndInStepsThatMayNot) {
  Use(16, {.max_num_batched_tokens = 64, .max_num_seqs = 2});
  Sequence& sequence = Add(8, 40);
  Step();
  EXPECT_THAT(Plan(false), ElementsAre(0));
  Commit();
  sequence.may_draft = false;
  EXPECT_THAT(Step(), ElementsAre(0));
  sequence.may_draft = true;
  EXPECT_THAT(Step(), ElementsAre(5));
  Use(16, {.max_num_batched_tokens = 64, .max_num_seqs = 2}, 0);
  Add(8, 40);
  Step();
  EXPECT_THAT(Step(), ElementsAre(0));
}

TEST_F(DraftPlannerTest, WhatIsTakenBackWaitsIsComputedAgainAndGetsNoDrafts) {
  Use(16, {.max_num_batched_tokens = 64, .max_num_seqs = 2});
  Sequence& sequence = Add(8, 30);
  Step();
  EXPECT_THAT(Plan(), ElementsAre(5));
  scheduler_->TakeBack(sequence);
  EXPECT_EQ(scheduler_->num_waiting(), 1);
  EXPECT_EQ(pool_->num_used(), 0);
  EXPECT_EQ(BrokenBlockInvariant(*pool_, *scheduler_), "");
  EXPECT_THAT(Plan(), ElementsAre(0));
  EXPECT_EQ(plan_->slices[0].start, 0);
  EXPECT_EQ(plan_->slices[0].count, 9);
  Commit();
  EXPECT_THAT(Step(), ElementsAre(0));
}

TEST_F(DraftPlannerTest, ContradictingOptionsAreRefusedWithTheirNamesAndValues) {
  BlockPool pool(4, 4);
  BlockTables tables(pool, hasher_, false);
  const auto why = [&](DraftOptions options) -> std::string {
    try {
      DraftPlanner(options, tables, StepTimeModel());
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(why({.max_tokens = -1}), HasSubstr("is -1"));
  EXPECT_THAT(why({.longest_match = 3, .shortest_match = 0}), HasSubstr("shortest_match is 0"));
  EXPECT_THAT(why({.longest_match = 1, .shortest_match = 2}), HasSubstr("longest_match 1"));
  EXPECT_THAT(why({.longest_match = 17, .shortest_match = 2}), HasSubstr("at most 16"));
  EXPECT_EQ(why({.max_tokens = 0, .longest_match = 2, .shortest_match = 2}), "");
}

// Decodes that repeat themselves, and a planner that is told what steps cost.
class DraftYieldTest : public testing::Test {
 protected:
  Sequence& AddDecode(double hit_rate = 0.6) {
    Sequence& sequence = sequences_.emplace_back();
    sequence.prompt_length = 8;
    sequence.max_length = 40;
    sequence.record = GuessRecord(hit_rate);
    sequence.tokens = {0, 1, 2, 3, 0, 1, 2, 3, 0};
    tables_.Grow(sequence, 8);
    tables_.MarkComputed(sequence, 8);
    tables_.Grow(sequence, 1);
    plan_.slices.push_back({.sequence = &sequence, .start = 8, .count = 1, .decode = true});
    return sequence;
  }

  // Steps with 0 to 3 drafts for each decode take fixed + each * rows.
  void Measure(double fixed, double each) {
    for (int i = 0; i < 600; ++i) {
      StepWork work;
      for (const PlannedSlice& slice : plan_.slices) work.AddDecode(slice.start, 1 + i % 4);
      step_times_.Learn(work, fixed + each * static_cast<double>(work.decode_tokens));
    }
  }

  std::vector<int32_t> Drafts() {
    for (PlannedSlice& slice : plan_.slices) slice.num_drafts = 0;
    planner_.AddDrafts(plan_, 1000);
    std::vector<int32_t> drafts;
    for (const PlannedSlice& slice : plan_.slices) drafts.push_back(slice.num_drafts);
    return drafts;
  }

  const PrefixHasher hasher_{{1, 2}};
  BlockPool pool_{1024, 4};
  BlockTables tables_{pool_, hasher_, false};
  StepTimeModel step_times_;
  DraftPlanner planner_{{.max_tokens = 4}, tables_, step_times_};
  std::deque<Sequence> sequences_;
  StepPlan plan_;
};

TEST_F(DraftYieldTest, AloneWhereRowsAreCheapASequenceGetsAll) {
  AddDecode();
  Measure(0.010, 0.0005);
  EXPECT_THAT(Drafts(), ElementsAre(4));
}

TEST_F(DraftYieldTest, WhereAllOfAStepsTimeIsItsRowsNobodyGetsAny) {
  AddDecode();
  Measure(0.0, 0.010);
  EXPECT_THAT(Drafts(), ElementsAre(0));
}

TEST_F(DraftYieldTest, InLargeStepsOnlyGuessesThatHardlyFailPay) {
  for (int i = 0; i < 32; ++i) AddDecode();
  Measure(0.010, 0.0005);  // a row yields a token by 0.6, all else a token in 52 / 32 rows
  EXPECT_THAT(Drafts(), Each(0));
  sequences_[3].record = GuessRecord(0.95);
  const std::vector<int32_t> drafts = Drafts();
  EXPECT_EQ(drafts[3], 4);
  EXPECT_EQ(drafts[4], 0);
}

TEST_F(DraftYieldTest, EachDraftCountsByTheChanceThatAllBeforeItComeTrue) {
  AddDecode(0.3);
  Measure(0.010, 0.001);  // 0.3 of 11 rows, 0.09 of 12 against 1.3 tokens: one pays, two do not
  EXPECT_THAT(Drafts(), ElementsAre(1));
}

TEST_F(DraftYieldTest, APoorRecordEndsDraftsAndGuessesThatComeTrueUncomputedBringThemBack) {
  Sequence& sequence = AddDecode(0.5);
  EXPECT_THAT(Drafts(), ElementsAre(testing::Gt(0)));
  for (int i = 0; i < 30; ++i) {
    sequence.guesses = {9, 9};
    planner_.Learn(sequence, 1);
  }
  EXPECT_LT(sequence.record.hit_rate(3), 0.02);
  EXPECT_EQ(sequence.record.hit_rate(2), 0.5);  // of shorter matches nothing was learnt
  EXPECT_THAT(Drafts(), ElementsAre(0));
  EXPECT_THAT(sequence.guesses, ElementsAre(1, 2, 3, 0));
  for (int i = 0; i < 4; ++i) {
    sequence.guesses = {0, 1};
    planner_.Learn(sequence, 1);  // the last token is a 0
  }
  EXPECT_GT(sequence.record.hit_rate(3), 0.3);
  EXPECT_THAT(Drafts(), ElementsAre(testing::Gt(0)));
}

TEST_F(DraftYieldTest, ARecordComparesUntilTheFirstGuessThatFailedAndNoFurther) {
  Sequence& sequence = AddDecode(0.5);
  sequence.guesses = {7, 3, 0};  // tokens end with 2 3 0
  sequence.guess_match = 2;
  planner_.Learn(sequence, 3);
  EXPECT_DOUBLE_EQ(sequence.record.hit_rate(2), 0.5 - 0.5 / 8);
  EXPECT_THAT(sequence.guesses, IsEmpty());
  planner_.Learn(sequence, 3);  // nothing was guessed
  EXPECT_DOUBLE_EQ(sequence.record.hit_rate(2), 0.5 - 0.5 / 8);
}

}  // namespace
}  // namespace affine
