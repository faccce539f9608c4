// An engine on a fake model and clock, stepped by hand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/engine/engine.h"
#include "tests/support/block_invariants.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_model.h"
#include "tests/support/recording_observer.h"
#include "tests/support/recording_sink.h"

namespace affine {

inline std::vector<int32_t> Ids(const std::vector<ScoredToken>& tokens) {
  std::vector<int32_t> ids;
  for (const ScoredToken& token : tokens) ids.push_back(token.id);
  return ids;
}

inline RequestError Cancelled() {
  return {
      .cause = ErrorCause::kCancelled, .message = "gone", .param = {}, .retry_after_seconds = 0};
}

/// A request with its sink, before and after submission.
struct Trial {
  Request request;
  std::shared_ptr<RecordingSink> sink = std::make_shared<RecordingSink>();
  RequestHandle handle = 0;
};

class EngineFixture : public testing::Test {
 protected:
  void Use(const FakeModelOptions& model, const EngineOptions& options) {
    engine_.reset();
    FakeModelOptions limits = model;
    limits.max_batched_tokens = options.max_num_batched_tokens;
    limits.max_slices = options.max_num_seqs;
    model_.emplace(limits);
    engine_.emplace(*model_, options, clock_, observer_);
  }

  Trial MakeTrial(std::vector<int32_t> prompt, int32_t max_tokens) {
    Trial trial;
    trial.request.id = "r" + std::to_string(++made_);
    trial.request.prompt = std::move(prompt);
    trial.request.max_tokens = max_tokens;
    trial.request.sampling.seed = static_cast<uint64_t>(made_);
    trial.request.arrival = clock_.Now();
    trial.request.sink = trial.sink;
    return trial;
  }

  std::optional<RequestError> TrySubmit(Trial& trial) {
    auto answer = engine_->Submit(trial.request);
    if (auto* error = std::get_if<RequestError>(&answer)) return std::move(*error);
    trial.handle = std::get<RequestHandle>(answer);
    return std::nullopt;
  }

  Trial Submit(Trial trial) {
    const std::optional<RequestError> error = TrySubmit(trial);
    EXPECT_FALSE(error) << error->message;
    return trial;
  }
  Trial Submit(std::vector<int32_t> prompt, int32_t max_tokens) {
    return Submit(MakeTrial(std::move(prompt), max_tokens));
  }

  // One round, a millisecond long.
  bool Round() {
    const bool worked = engine_->RunOnce();
    clock_.Advance(std::chrono::milliseconds(1));
    EXPECT_EQ(BrokenBlockInvariant(engine_->pool(), engine_->scheduler()), "");
    return worked;
  }

  void RunAll() {
    for (int rounds = 0; Round(); ++rounds) ASSERT_LT(rounds, 100000);
    const EngineLoad load = engine_->load();
    EXPECT_EQ(load.blocks_used, 0);
    EXPECT_EQ(load.running, 0);
    EXPECT_EQ(load.waiting, 0);
    EXPECT_TRUE(engine_->WaitIdle(SteadyClock().Now()));
  }

  std::vector<ScoredToken> Expected(const Trial& trial) const {
    return model_->Continue(trial.request.prompt, trial.request.sampling, trial.request.max_tokens,
                            trial.request.stop_token_ids);
  }

  // The whole answer, and none of it twice.
  void ExpectWhole(const Trial& trial) const {
    ASSERT_EQ(trial.sink->finishes(), 1);
    EXPECT_EQ(trial.sink->events_after_finish(), 0);
    const RequestFinish finish = *trial.sink->finish();
    EXPECT_FALSE(finish.error) << finish.error->message;
    const std::vector<ScoredToken> expected = Expected(trial);
    EXPECT_EQ(trial.sink->tokens() == expected, true)
        << testing::PrintToString(Ids(trial.sink->tokens())) << " instead of "
        << testing::PrintToString(Ids(expected));
    EXPECT_EQ(finish.output_tokens, static_cast<int32_t>(expected.size()));
    EXPECT_EQ(finish.prompt_tokens, static_cast<int32_t>(trial.request.prompt.size()));
    const bool stopped = !expected.empty() && std::ranges::binary_search(
                                                  trial.request.stop_token_ids, expected.back().id);
    EXPECT_EQ(finish.reason, stopped ? FinishReason::kStop : FinishReason::kLength);
    const SamplingParams& sampling = trial.request.sampling;
    if (sampling.prompt_top_log_probs < 0) {
      EXPECT_EQ(trial.sink->prompt_deliveries(), 0);
      return;
    }
    EXPECT_EQ(trial.sink->prompt_deliveries(), trial.request.prompt.size() > 1 ? 1 : 0);
    EXPECT_EQ(trial.sink->prompt() == model_->ScorePrompt(trial.request.prompt, sampling), true);
  }

  FakeClock clock_;
  RecordingObserver observer_;
  std::optional<FakeModel> model_;
  std::optional<Engine> engine_;

 private:
  int made_ = 0;
};

}  // namespace affine
