#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/server/engine/engine_fixture.h"

namespace affine {
namespace {

// Random requests arrive, are cancelled and time out over random pools, budgets and block sizes.
class EngineStressTest : public EngineFixture {
 protected:
  int32_t Below(size_t bound) { return static_cast<int32_t>(random_() % bound); }

  void UseRandomEngine() {
    static constexpr int32_t kBlockSizes[] = {1, 2, 3, 4, 7, 16};
    FakeModelOptions model;
    model.block_size = kBlockSizes[Below(6)];
    model.max_model_len = 120;
    model.num_blocks = (40 + Below(160) + model.block_size - 1) / model.block_size;
    model.vocab_size = 40 + Below(40);
    vocab_size_ = model.vocab_size;
    capacity_ = std::min(model.max_model_len, model.num_blocks * model.block_size);
    EngineOptions options;
    options.max_num_seqs = 1 + Below(12);
    options.max_num_batched_tokens = options.max_num_seqs + Below(2) * Below(60);
    options.max_num_queued_reqs = 1 + Below(30);
    options.max_prefill_tokens_beside_decodes = Below(2) * (1 + Below(10));
    options.max_decode_stall_ms = Below(2) * Below(60);
    options.enable_prefix_caching = Below(4) != 0;
    model.predictable_percent = predictable_percent_;
    options.drafts = {
        .max_tokens = max_drafts_, .longest_match = 3, .shortest_match = 1 + Below(2)};
    options.prefix_hash_key = {random_(), random_()};
    Use(model, options);
    model_->before_step = [this](const StepBatch&) {
      clock_.Advance(std::chrono::microseconds(1 + Below(50)));
    };
  }

  // Prompts are cut from a few families, so that prefixes are shared often.
  Trial RandomTrial() {
    const int32_t length = 1 + Below(std::min(capacity_ - 1, 1 + Below(90)));
    const int32_t family = Below(3);
    std::vector<int32_t> prompt;
    for (int32_t i = 0; i < length; ++i) prompt.push_back((family * 17 + i * 5) % vocab_size_);
    if (Below(2) == 0) prompt[Below(length)] = Below(vocab_size_);
    Trial trial = MakeTrial(std::move(prompt), Below(std::min(40, capacity_ - length + 1) + 1));
    SamplingParams& sampling = trial.request.sampling;
    sampling.seed = Below(3);
    sampling.temperature = static_cast<float>(Below(3));
    sampling.presence_penalty = static_cast<float>(Below(2));  // reads tokens
    sampling.top_log_probs = Below(3) - 1;
    sampling.prompt_top_log_probs = Below(4) == 0 ? Below(3) : -1;
    for (int i = Below(3); i > 0; --i) {
      trial.request.stop_token_ids.push_back(Below(vocab_size_));
    }
    std::ranges::sort(trial.request.stop_token_ids);
    trial.request.priority = Below(3);
    if (Below(4) == 0) trial.request.cache_salt = Below(2) == 0 ? "a" : "b";
    if (Below(6) == 0) {
      trial.request.deadline = clock_.Now() + std::chrono::milliseconds(Below(60));
    }
    return trial;
  }

  void ExpectPrefix(const Trial& trial) const {
    ASSERT_EQ(trial.sink->finishes(), 1);
    const std::vector<ScoredToken> expected = Expected(trial);
    const std::vector<ScoredToken> tokens = trial.sink->tokens();
    ASSERT_LE(tokens.size(), expected.size());
    EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), expected.begin()));
    EXPECT_EQ(trial.sink->events_after_finish(), 0);
    EXPECT_LE(trial.sink->prompt_deliveries(), 1);
  }

  void RunRandomly(int requests) {
    std::vector<Trial> trials;
    while (static_cast<int>(trials.size()) < requests) {
      for (int i = Below(4); i > 0; --i) {
        Trial trial = RandomTrial();
        const std::optional<RequestError> error = TrySubmit(trial);
        if (error) {
          ASSERT_EQ(error->cause, ErrorCause::kFull) << error->message;
          break;
        }
        trials.push_back(std::move(trial));
      }
      if (!trials.empty() && Below(4) == 0) {
        engine_->Cancel(
            trials[trials.size() - 1 - Below(std::min<size_t>(trials.size(), 20))].handle,
            Cancelled());
      }
      Round();
      ASSERT_FALSE(HasFailure());
    }
    RunAll();
    for (const Trial& trial : trials) Check(trial);
  }

  void Check(const Trial& trial) {
    SCOPED_TRACE("request " + trial.request.id);
    const std::optional<RequestError> error = trial.sink->finish().value().error;
    if (!error) {
      ++whole_;
      ExpectWhole(trial);
      return;
    }
    EXPECT_TRUE(error->cause == ErrorCause::kCancelled ||
                (error->cause == ErrorCause::kDeadline && trial.request.deadline))
        << error->message;
    ExpectPrefix(trial);
  }

  std::mt19937_64 random_;
  int32_t vocab_size_ = 0;
  int32_t capacity_ = 0;  // tokens that fit the model and the cache
  int32_t predictable_percent_ = 0;
  int32_t max_drafts_ = 0;
  int whole_ = 0;
};

TEST_F(EngineStressTest, AnyChunkingPoolCompanyAndCancellationGivesTheTokensOfBeingAlone) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    random_.seed(seed);
    UseRandomEngine();
    RunRandomly(100);
    if (HasFailure()) return;
  }
  EXPECT_GT(whole_, 2000);
  EXPECT_GT(observer_.preemptions, 100);
  EXPECT_GT(observer_.prefix_hits, 1000);
}

TEST_F(EngineStressTest, AndSoDoDraftsWhetherTheyComeTrueOrNot) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    random_.seed(seed);
    max_drafts_ = 1 + Below(9);
    predictable_percent_ = 50 + Below(51);
    UseRandomEngine();
    RunRandomly(20);
    if (HasFailure()) return;
  }
  EXPECT_GT(whole_, 3000);
  EXPECT_GT(observer_.preemptions, 100);
  EXPECT_GT(observer_.prefix_hits, 1000);
  EXPECT_GT(observer_.accepted_drafts, 5000);
  EXPECT_GT(observer_.draft_tokens, observer_.accepted_drafts + 2000);
}

}  // namespace
}  // namespace affine
