#include "tests/server/engine/engine_fixture.h"

namespace affine {
namespace {

using std::chrono::milliseconds;

// Steps take 5 ms on the clock, and 0.5 ms for each token.
class GoalsTest : public EngineFixture {
 protected:
  void UseTimed(EngineOptions options) {
    Use({.block_size = 16, .num_blocks = 2048, .max_model_len = 4096}, options);
    model_->before_step = [this](const StepBatch& batch) {
      size_t tokens = 0;
      for (const SequenceSlice& slice : batch.slices) tokens += slice.tokens.size();
      clock_.Advance(std::chrono::microseconds(5000 + 500 * tokens));
    };
  }
  static std::vector<int32_t> Prompt(int32_t first, int32_t length) {
    std::vector<int32_t> prompt;
    for (int32_t i = 0; i < length; ++i) prompt.push_back((first + i * 7) % 101);
    return prompt;
  }
  /// The engine sees steps of all kinds.
  void Learn() {
    for (const int32_t length : {30, 1000, 100, 300, 2000, 10, 700, 50}) {
      for (int i = 0; i < 4; ++i) Submit(Prompt(length + i, length + i), 12);
      RunAll();
    }
  }
  Trial Wanting(int32_t length, milliseconds first_token) {
    Trial trial = MakeTrial(Prompt(++asked_ + 40, length), 4);
    trial.request.max_ttft = first_token;
    return Submit(std::move(trial));
  }
  static RequestError Refusal(const Trial& trial) {
    const RequestFinish finish = trial.sink->finish().value();
    EXPECT_EQ(finish.reason, FinishReason::kError);
    EXPECT_EQ(finish.output_tokens, 0);
    return finish.error.value_or(RequestError{});
  }
  static milliseconds FirstToken(const Trial& trial) {
    const RequestFinish finish = *trial.sink->finish();
    return std::chrono::duration_cast<milliseconds>(*finish.first_token - finish.arrival);
  }

 private:
  int32_t asked_ = 0;
};

TEST_F(GoalsTest, BeforeStepsWereTimedNothingIsRefused) {
  UseTimed({});
  const Trial trial = Wanting(1000, milliseconds(1));
  RunAll();
  ExpectWhole(trial);
}

TEST_F(GoalsTest, APromptThatTakesLongerThanItsGoalIsRefusedAtOnce) {
  UseTimed({.enable_prefix_caching = false});
  Learn();
  const Trial refused = Wanting(1000, milliseconds(300));  // it takes 505
  const Trial taken = Wanting(1000, milliseconds(800));
  Round();
  const RequestError error = Refusal(refused);
  EXPECT_EQ(error.cause, ErrorCause::kGoal);
  EXPECT_EQ(error.param, "max_ttft_ms");
  EXPECT_EQ(error.retry_after_seconds, 1);
  EXPECT_NE(error.message.find("ms with 0 requests ahead, and `max_ttft_ms` is 300; try again in "),
            std::string::npos)
      << error.message;
  RunAll();
  ExpectWhole(taken);
  EXPECT_LE(FirstToken(taken), milliseconds(800));
}

TEST_F(GoalsTest, TheQueueCountsButNotForThoseWhoPassIt) {
  UseTimed({.enable_prefix_caching = false});
  Learn();
  for (int i = 0; i < 4; ++i) Submit(Prompt(i, 2000), 2);  // a second each
  const Trial refused = Wanting(100, milliseconds(2000));
  Trial urgent = MakeTrial(Prompt(9, 100), 4);
  urgent.request.priority = -1;
  urgent.request.max_ttft = milliseconds(2000);
  urgent = Submit(std::move(urgent));
  const Trial patient = Wanting(100, milliseconds(8000));
  RunAll();
  const RequestError error = Refusal(refused);
  EXPECT_NE(error.message.find("5 requests ahead"), std::string::npos)
      << error.message << " (the urgent one passes it)";
  EXPECT_GE(error.retry_after_seconds, 2);
  ExpectWhole(urgent);
  EXPECT_LE(FirstToken(urgent), milliseconds(2000));
  ExpectWhole(patient);
  EXPECT_LE(FirstToken(patient), milliseconds(8000));
}

TEST_F(GoalsTest, TheTimeSinceArrivalCounts) {
  UseTimed({.enable_prefix_caching = false});
  Learn();
  const Trial late = Wanting(100, milliseconds(300));
  clock_.Advance(milliseconds(290));  // a step that was under way, say
  RunAll();
  EXPECT_EQ(Refusal(late).cause, ErrorCause::kGoal);
}

TEST_F(GoalsTest, ManyAtOnceMakeTokensSlow) {
  UseTimed({.enable_prefix_caching = false});
  Learn();
  for (int i = 0; i < 30; ++i) Submit(Prompt(i, 20), 200);
  for (int i = 0; i < 30; ++i) Round();
  std::vector<Trial> trials;
  for (const int goal : {10, 40}) {  // a step takes 20 ms
    trials.push_back(MakeTrial(Prompt(50, 20), 4));
    trials.back().request.max_time_per_token = milliseconds(goal);
    trials.back() = Submit(std::move(trials.back()));
  }
  RunAll();
  EXPECT_EQ(Refusal(trials[0]).param, "max_time_per_token_ms");
  ExpectWhole(trials[1]);
}

}  // namespace
}  // namespace affine
