#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "server/scheduler/scheduler.h"
#include "tests/support/block_invariants.h"
#include "tests/support/fake_clock.h"

namespace affine {
namespace {

using testing::Each;
using testing::IsEmpty;
using testing::Le;

// A scheduler in front of a machine whose steps take time on a fake clock.
class PrefillFairnessTest : public testing::Test {
 protected:
  void Use(const SchedulerOptions& options, int32_t num_blocks = 4096, bool caching = false) {
    scheduler_.reset();
    pool_.emplace(num_blocks, 16);
    tables_.emplace(*pool_, hasher_, caching);
    scheduler_.emplace(options, *tables_);
  }

  // Ids ascend from 1. Prompts begin alike if `family` is given.
  uint64_t Add(int32_t prompt, int32_t output = 1, int32_t priority = 0, int32_t family = 0) {
    auto sequence = std::make_unique<Sequence>();
    sequence->id = ++added_;
    sequence->priority = priority;
    sequence->prompt_length = prompt;
    sequence->max_length = prompt + output;
    const int32_t first = family > 0 ? -10000 * family : static_cast<int32_t>(added_) * 10000;
    for (int32_t i = 0; i < prompt; ++i) sequence->tokens.push_back(first + i);
    scheduler_->Add(*sequence);
    return alive_.emplace(added_, std::move(sequence)).first->first;
  }

  // One step of 6 ms and 0.3 ms for each token, more for late ones; true if it decoded.
  bool Step() {
    const Clock::Time begin = clock_.Now();
    const StepPlan& plan = scheduler_->Plan();
    last_.clear();
    double seconds = 6e-3;
    bool decoded = false;
    for (const PlannedSlice& slice : plan.slices) {
      last_[slice.sequence->id] = slice.count;
      seconds += slice.count * (3e-4 + 2e-7 * slice.start);
      decoded |= slice.decode;
    }
    std::vector<uint64_t> ended;
    for (const PlannedSlice& slice : plan.slices) {
      Sequence& sequence = *slice.sequence;
      const bool sample = slice.sample();
      scheduler_->Commit(slice);
      if (!sample) continue;
      sequence.tokens.push_back(7);
      if (sequence.length() == sequence.prompt_length + 1) first_tokens_[sequence.id] = steps_;
      if (sequence.length() == sequence.max_length) ended.push_back(sequence.id);
    }
    for (const uint64_t id : ended) {
      scheduler_->Remove(*alive_.at(id));
      alive_.erase(id);
    }
    EXPECT_EQ(BrokenBlockInvariant(*pool_, *scheduler_), "");
    clock_.Advance(
        std::chrono::duration_cast<Clock::Duration>(std::chrono::duration<double>(seconds)));
    took_ = std::chrono::duration<double>(clock_.Now() - begin).count();
    scheduler_->Learn(took_);
    ++steps_;
    return decoded;
  }

  // Steps until it has its first token, from now on.
  int StepsToFirstToken(uint64_t id) {
    const int begin = steps_;
    while (!first_tokens_.contains(id)) {
      Step();
      if (steps_ - begin > 10000) return -1;
    }
    return first_tokens_.at(id) - begin + 1;
  }

  const PrefixHasher hasher_{{1, 2}};
  FakeClock clock_;
  std::optional<BlockPool> pool_;
  std::optional<BlockTables> tables_;
  std::optional<Scheduler> scheduler_;
  std::map<uint64_t, std::unique_ptr<Sequence>> alive_;
  std::map<uint64_t, int32_t> last_;      // by id: tokens in the latest step
  std::map<uint64_t, int> first_tokens_;  // by id: in which step
  uint64_t added_ = 0;
  int steps_ = 0;
  double took_ = 0.0;  // the latest step, seconds
};

TEST_F(PrefillFairnessTest, AShortPromptBehindALongOneHasItsFirstTokenInOneStep) {
  Use({.max_num_batched_tokens = 512, .max_num_seqs = 32});
  const uint64_t long_one = Add(8000);
  Step();
  EXPECT_EQ(StepsToFirstToken(Add(200)), 1);
  EXPECT_EQ(last_.at(long_one), 304);  // what the short one left
  EXPECT_FALSE(first_tokens_.contains(long_one));
}

TEST_F(PrefillFairnessTest, ShortPromptsBehindSeveralLongOnesComeSoonToo) {
  Use({.max_num_batched_tokens = 512, .max_num_seqs = 32});
  for (int i = 0; i < 6; ++i) Add(8000);
  Step();
  std::vector<uint64_t> short_ones;
  for (int i = 0; i < 6; ++i) short_ones.push_back(Add(100));
  std::vector<int> steps;
  for (const uint64_t id : short_ones) steps.push_back(StepsToFirstToken(id));
  EXPECT_LE(steps_, 1 + 3);  // 600 tokens, of which 256 and more go in one step
}

TEST_F(PrefillFairnessTest, AShortPromptBesideALongOneAndDecodesWaitsForAHandfulOfShortSteps) {
  Use({.max_num_batched_tokens = 2048, .max_num_seqs = 32, .max_decode_stall_seconds = 0.1});
  for (int i = 0; i < 4; ++i) Add(64, 100000);
  for (int i = 0; i < 20; ++i) Step();
  Add(8000);
  Step();
  const Clock::Time begin = clock_.Now();
  EXPECT_LE(StepsToFirstToken(Add(200)), 3);
  EXPECT_LT(clock_.Now() - begin, std::chrono::milliseconds(400));
}

TEST_F(PrefillFairnessTest, AStreamOfShortPromptsLeavesALongOneHalfOfEachStep) {
  Use({.max_num_batched_tokens = 512, .max_num_seqs = 32});
  const uint64_t long_one = Add(8000);
  for (int i = 0; !first_tokens_.contains(long_one); ++i) {
    ASSERT_LT(i, 8000 / 256 + 2);
    for (int k = 0; k < 6; ++k) Add(100);
    Step();
    ASSERT_GE(last_[long_one] + (first_tokens_.contains(long_one) ? 256 : 0), 240);
  }
}

TEST_F(PrefillFairnessTest, AMiddlingPromptIsNotStarvedByShortOnes) {
  Use({.max_num_batched_tokens = 512, .max_num_seqs = 32});
  Add(8000);
  const uint64_t middling = Add(2000);
  for (int i = 0; !first_tokens_.contains(middling); ++i) {
    ASSERT_LT(i, (8000 + 2000) / 256 + 4);
    for (int k = 0; k < 6; ++k) Add(100);
    Step();
  }
}

TEST_F(PrefillFairnessTest, AShortPromptOfLowerPriorityWaitsForTheLongOne) {
  Use({.max_num_batched_tokens = 512, .max_num_seqs = 32});
  const uint64_t long_one = Add(8000, 1, /*priority=*/0);
  const uint64_t short_one = Add(20, 1, /*priority=*/1);
  StepsToFirstToken(short_one);
  EXPECT_GE(first_tokens_.at(short_one), first_tokens_.at(long_one));
}

TEST_F(PrefillFairnessTest, ALongPromptOfHigherPriorityTakesOverAtOnce) {
  Use({.max_num_batched_tokens = 512, .max_num_seqs = 32});
  const uint64_t low = Add(8000, 1, /*priority=*/1);
  Step();
  const uint64_t high = Add(8000, 1, /*priority=*/0);
  Step();
  EXPECT_EQ(last_[high], 512);
  EXPECT_EQ(last_[low], 0);
}

TEST_F(PrefillFairnessTest, EqualPromptsAreServedInOrderOfArrival) {
  Use({.max_num_batched_tokens = 512, .max_num_seqs = 32});
  for (int i = 0; i < 12; ++i) Add(300);
  std::vector<int> order;
  for (uint64_t id = 1; id <= 12; ++id) {
    StepsToFirstToken(id);
    order.push_back(first_tokens_.at(id));
  }
  EXPECT_TRUE(std::ranges::is_sorted(order));
  EXPECT_LE(steps_, 12 * 300 / 496 + 1);
}

TEST_F(PrefillFairnessTest, PromptsThatBeginAlikeWaitForTheBlocksOfTheFirst) {
  Use({.max_num_batched_tokens = 512, .max_num_seqs = 32}, 4096, /*caching=*/true);
  for (int i = 0; i < 4; ++i) Add(3200, 1, 0, /*family=*/1);
  int64_t computed = 0;
  for (; !alive_.empty(); Step()) {
    for (const auto& [id, count] : last_) computed += count;
  }
  EXPECT_LT(computed, 3200 + 512);
}

TEST_F(PrefillFairnessTest, NoneIsLetInPastOneThatHasNoRoom) {
  Use({.max_num_batched_tokens = 512, .max_num_seqs = 32}, /*num_blocks=*/100);
  Add(1000);
  Step();
  Add(1000);
  const uint64_t short_one = Add(20);
  Step();
  EXPECT_FALSE(first_tokens_.contains(short_one));
  EXPECT_EQ(scheduler_->num_waiting(), 2);
}

TEST_F(PrefillFairnessTest, StepsThatDecodeKeepToTheBoundOnceTimesAreKnown) {
  for (const double bound : {0.05, 0.1, 0.2, 0.4}) {
    Use({.max_num_batched_tokens = 2048, .max_num_seqs = 32, .max_decode_stall_seconds = bound});
    alive_.clear();
    for (int i = 0; i < 4; ++i) Add(128, 5000);
    Step();
    std::vector<double> stalls;
    int64_t prefilled = 0;
    for (int i = 0; i < 400; ++i) {
      if (i % 40 == 0) Add(4096);
      if (Step()) stalls.push_back(took_);
      for (const auto& [id, count] : last_) prefilled += count > 1 ? count : 0;
    }
    EXPECT_EQ(stalls.size(), 400u);
    EXPECT_THAT(stalls, Each(Le(1.2 * bound))) << bound;
    EXPECT_GT(*std::ranges::max_element(stalls), 0.8 * bound);  // and uses it
    EXPECT_GT(prefilled, 16 * 400) << bound;
  }
}

TEST_F(PrefillFairnessTest, StepsWithoutDecodesKnowNoBound) {
  Use({.max_num_batched_tokens = 2048, .max_num_seqs = 32, .max_decode_stall_seconds = 0.01});
  const uint64_t prompt = Add(8000);
  Step();
  EXPECT_EQ(last_.at(prompt), 2048);
}

TEST_F(PrefillFairnessTest, DecodesBeyondTheBoundLeavePrefillSixteenTokens) {
  Use({.max_num_batched_tokens = 2048, .max_num_seqs = 64, .max_decode_stall_seconds = 0.01});
  for (int i = 0; i < 40; ++i) Add(16, 5000);
  for (int i = 0; i < 60; ++i) Step();
  const uint64_t prompt = Add(160);
  EXPECT_EQ(StepsToFirstToken(prompt), 10);
}

}  // namespace
}  // namespace affine
