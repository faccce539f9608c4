#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/server/engine/engine_fixture.h"

namespace affine {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class EngineLifecycleTest : public EngineFixture {
 protected:
  EngineLifecycleTest() { Use({}, {.max_num_batched_tokens = 32, .max_num_seqs = 2}); }
  static ErrorCause CauseOf(const Trial& trial) {
    return trial.sink->finish().value().error.value().cause;
  }
  Trial SubmitWithDeadline(milliseconds after, int32_t max_tokens) {
    Trial trial = MakeTrial({1, 2, 3}, max_tokens);
    trial.request.deadline = clock_.Now() + after;
    return Submit(std::move(trial));
  }
};

TEST_F(EngineLifecycleTest, CancellingFreesBlocksBeforeTheNextStep) {
  const Trial kept = Submit({1, 2, 3}, 6);
  const Trial gone = Submit({4, 5, 6}, 60);
  Round();
  size_t slices = 0;
  int32_t used = 0;
  model_->before_step = [&](const StepBatch& batch) {
    slices = batch.slices.size();
    used = engine_->load().blocks_used;
  };
  engine_->Cancel(gone.handle, Cancelled());
  Round();
  EXPECT_EQ(slices, 1u);
  EXPECT_EQ(used, 1);
  ASSERT_TRUE(gone.sink->finish());
  EXPECT_EQ(CauseOf(gone), ErrorCause::kCancelled);
  EXPECT_EQ(gone.sink->finish()->output_tokens, 1);
  RunAll();
  ExpectWhole(kept);
}

TEST_F(EngineLifecycleTest, ARequestCancelledInTheInboxOrTheQueueNeverRuns) {
  const Trial inbox = Submit({1}, 5);
  engine_->Cancel(inbox.handle, Cancelled());
  RunAll();
  EXPECT_EQ(CauseOf(inbox), ErrorCause::kCancelled);
  EXPECT_FALSE(inbox.sink->finish()->first_scheduled);
  EXPECT_EQ(model_->steps(), 0);

  const std::vector<Trial> running = {Submit({1}, 5), Submit({2}, 5)};
  const Trial queued = Submit({3}, 5);
  Round();
  EXPECT_EQ(engine_->load().waiting, 1);
  engine_->Cancel(queued.handle, Cancelled());
  Round();
  EXPECT_EQ(engine_->load().waiting, 0);
  RunAll();
  EXPECT_FALSE(queued.sink->finish()->first_scheduled);
  for (const Trial& trial : running) ExpectWhole(trial);
}

TEST_F(EngineLifecycleTest, CancellingWithoutAnErrorIsAStop) {
  const Trial satisfied = Submit({4, 5, 6}, 60);
  Round();
  engine_->Cancel(satisfied.handle, std::nullopt);
  RunAll();
  ASSERT_TRUE(satisfied.sink->finish());
  EXPECT_EQ(satisfied.sink->finish()->reason, FinishReason::kStop);
  EXPECT_FALSE(satisfied.sink->finish()->error);
  EXPECT_EQ(satisfied.sink->finish()->output_tokens, 1);
  EXPECT_EQ(engine_->load().blocks_used, 0);
}

TEST_F(EngineLifecycleTest, CancellingTwiceOrTooLateDoesNothing) {
  const Trial done = Submit({1}, 1);
  RunAll();
  const Trial other = Submit({2}, 3);
  engine_->Cancel(done.handle, Cancelled());
  engine_->Cancel(12345, Cancelled());
  RunAll();
  ExpectWhole(done);
  ExpectWhole(other);
}

TEST_F(EngineLifecycleTest, ADeadlineEndsARunningRequestAndFreesItsBlocks) {
  const Trial late = SubmitWithDeadline(milliseconds(3), 60);
  const Trial kept = Submit({4}, 10);
  RunAll();
  EXPECT_EQ(CauseOf(late), ErrorCause::kDeadline);
  EXPECT_EQ(late.sink->tokens().size(), 3u);
  EXPECT_THAT(late.sink->finish()->error->message, HasSubstr("after 3 output tokens"));
  ExpectWhole(kept);
}

TEST_F(EngineLifecycleTest, ADeadlineEndsAQueuedRequest) {
  const std::vector<Trial> running = {Submit({1}, 9), Submit({2}, 9)};
  const Trial late = SubmitWithDeadline(milliseconds(3), 60);
  RunAll();
  EXPECT_EQ(CauseOf(late), ErrorCause::kDeadline);
  EXPECT_THAT(late.sink->finish()->error->message, HasSubstr("queued"));
  EXPECT_FALSE(late.sink->finish()->first_scheduled);
  for (const Trial& trial : running) ExpectWhole(trial);
}

TEST_F(EngineLifecycleTest, ADeadlineThatIsMetChangesNothing) {
  const Trial trial = SubmitWithDeadline(milliseconds(1000), 5);
  RunAll();
  ExpectWhole(trial);
  clock_.Advance(milliseconds(2000));
  EXPECT_FALSE(Round());
}

TEST_F(EngineLifecycleTest, DrainingRefusesNewRequestsAndFinishesTheOthers) {
  std::vector<Trial> trials;
  for (int32_t i = 0; i < 4; ++i) trials.push_back(Submit({i}, 5));
  Round();
  engine_->Drain();
  Trial refused = MakeTrial({9}, 5);
  const std::optional<RequestError> error = TrySubmit(refused);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->cause, ErrorCause::kUnavailable);
  EXPECT_FALSE(engine_->WaitIdle(SteadyClock().Now()));
  RunAll();
  for (const Trial& trial : trials) ExpectWhole(trial);
}

TEST_F(EngineLifecycleTest, StopEndsRunningQueuedAndInboxRequestsAtOnce) {
  std::vector<Trial> trials;
  for (int32_t i = 0; i < 4; ++i) trials.push_back(Submit({i}, 5));
  Round();
  trials.push_back(Submit({4}, 5));
  engine_->Stop({.cause = ErrorCause::kUnavailable,
                 .message = "cut off",
                 .param = {},
                 .retry_after_seconds = 0});
  const int64_t steps = model_->steps();
  engine_->Run();
  EXPECT_EQ(model_->steps(), steps);
  for (const Trial& trial : trials) {
    ASSERT_EQ(trial.sink->finishes(), 1);
    EXPECT_EQ(trial.sink->finish()->error->message, "cut off");
  }
  EXPECT_EQ(engine_->load().blocks_used, 0);
  EXPECT_TRUE(engine_->WaitIdle(SteadyClock().Now()));
  Trial refused = MakeTrial({9}, 5);
  EXPECT_TRUE(TrySubmit(refused));
}

TEST_F(EngineLifecycleTest, AnEngineThatGoesEndsWhatIsAlive) {
  const Trial running = Submit({1}, 5);
  Round();
  const Trial queued = Submit({2}, 5);
  engine_.reset();
  for (const Trial* trial : {&running, &queued}) {
    ASSERT_EQ(trial->sink->finishes(), 1);
    EXPECT_EQ(CauseOf(*trial), ErrorCause::kUnavailable);
  }
}

TEST_F(EngineLifecycleTest, AnIdleEngineWakesForWorkAndForStop) {
  std::thread runner([&] { engine_->Run(); });
  for (int32_t i = 0; i < 3; ++i) {
    const Trial trial = Submit({i}, 5);
    trial.sink->WaitFinish();
    ExpectWhole(trial);
    EXPECT_TRUE(engine_->WaitIdle(SteadyClock().Now() + std::chrono::minutes(1)));
  }
  engine_->Stop(Cancelled());
  runner.join();
}

}  // namespace
}  // namespace affine
