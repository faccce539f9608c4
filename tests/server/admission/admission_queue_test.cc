#include "server/admission/admission_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support/fake_clock.h"

namespace affine {
namespace {

using testing::HasSubstr;

class AdmissionQueueTest : public testing::Test {
 protected:
  uint64_t Accept(const std::string& id = "") {
    std::vector<Request> requests(1);
    requests.front().id = id;
    return std::get<uint64_t>(queue_.Submit(std::move(requests)));
  }
  RequestError Refusal(size_t count = 1) {
    return std::get<RequestError>(queue_.Submit(std::vector<Request>(count)));
  }
  static RequestError Error(ErrorCause cause) {
    return {.cause = cause, .message = "why", .param = {}, .retry_after_seconds = 0};
  }
  static Clock::Time InAMinute() { return SteadyClock().Now() + std::chrono::minutes(1); }

  FakeClock clock_;
  AdmissionQueue queue_{3, clock_};
  Inbox inbox_;
};

TEST_F(AdmissionQueueTest, HandsOverInOrderOfArrival) {
  const uint64_t first = Accept("a");
  const uint64_t second = Accept("b");
  EXPECT_LT(first, second);
  queue_.Take(&inbox_);
  ASSERT_EQ(inbox_.submissions.size(), 2u);
  EXPECT_EQ(inbox_.submissions[0].handle, first);
  EXPECT_EQ(inbox_.submissions[0].request.id, "a");
  EXPECT_EQ(inbox_.submissions[1].request.id, "b");
  queue_.Take(&inbox_);
  EXPECT_TRUE(inbox_.submissions.empty());
}

TEST_F(AdmissionQueueTest, IsFullAtItsLimitWithAHint) {
  for (int i = 0; i < 3; ++i) Accept();
  EXPECT_EQ(queue_.num_queued(), 3);
  const RequestError error = Refusal();
  EXPECT_EQ(error.cause, ErrorCause::kFull);
  EXPECT_EQ(error.retry_after_seconds, 1);
  EXPECT_THAT(error.message, HasSubstr("max_num_queued_reqs is 3"));
}

TEST_F(AdmissionQueueTest, TakesSeveralAtOnceOrNone) {
  Accept("alone");
  const RequestError error = Refusal(3);
  EXPECT_EQ(error.cause, ErrorCause::kFull);
  EXPECT_THAT(error.message, HasSubstr("1 requests wait already, this one has 3 answers, and"));
  EXPECT_EQ(queue_.num_queued(), 1);
  const uint64_t first = std::get<uint64_t>(queue_.Submit(std::vector<Request>(2)));
  queue_.Take(&inbox_);
  ASSERT_EQ(inbox_.submissions.size(), 3u);
  EXPECT_EQ(inbox_.submissions[1].handle, first);
  EXPECT_EQ(inbox_.submissions[2].handle, first + 1);
  queue_.NoteEnded(2);
  EXPECT_FALSE(queue_.WaitIdle(Clock::Time{})) << "each counts as alive";
}

TEST_F(AdmissionQueueTest, WhatAnEmptyQueueCannotHoldIsBadInput) {
  const RequestError error = Refusal(4);
  EXPECT_EQ(error.cause, ErrorCause::kBadInput);
  EXPECT_EQ(error.param, "n");
  EXPECT_THAT(error.message, HasSubstr("4 answers"));
  EXPECT_THAT(error.message, HasSubstr("max_num_queued_reqs is 3"));
}

TEST_F(AdmissionQueueTest, TheHintFollowsTheRateAtWhichRequestsStart) {
  queue_.SetWaiting(0, 1);
  clock_.Advance(std::chrono::seconds(4));
  for (int i = 0; i < 3; ++i) Accept();
  EXPECT_EQ(Refusal().retry_after_seconds, 12);
}

TEST_F(AdmissionQueueTest, TakenRequestsCountUntilTheyRun) {
  for (int i = 0; i < 3; ++i) Accept();
  queue_.Take(&inbox_);
  EXPECT_EQ(Refusal().cause, ErrorCause::kFull);
  queue_.SetWaiting(2, 1);
  Accept();
  EXPECT_EQ(queue_.num_queued(), 3);
  EXPECT_EQ(Refusal().cause, ErrorCause::kFull);
}

TEST_F(AdmissionQueueTest, ClosedItRefusesButKeepsWhatItHas) {
  Accept();
  queue_.Close(Error(ErrorCause::kUnavailable));
  EXPECT_EQ(Refusal().cause, ErrorCause::kUnavailable);
  queue_.Take(&inbox_);
  EXPECT_EQ(inbox_.submissions.size(), 1u);
  EXPECT_FALSE(inbox_.stop);
}

TEST_F(AdmissionQueueTest, StopRefusesAndTellsTheEngine) {
  queue_.Stop(Error(ErrorCause::kInternal));
  EXPECT_EQ(Refusal().cause, ErrorCause::kInternal);
  queue_.Take(&inbox_);
  ASSERT_TRUE(inbox_.stop);
  EXPECT_EQ(inbox_.stop->cause, ErrorCause::kInternal);
}

TEST_F(AdmissionQueueTest, TheFirstRefusalStays) {
  queue_.Close(Error(ErrorCause::kUnavailable));
  queue_.Stop(Error(ErrorCause::kInternal));
  EXPECT_EQ(Refusal().cause, ErrorCause::kUnavailable);
}

TEST_F(AdmissionQueueTest, PassesCancellationsOnWhileAnyRequestIsAlive) {
  const uint64_t handle = Accept();
  queue_.Cancel(handle, Error(ErrorCause::kCancelled));
  queue_.Take(&inbox_);
  ASSERT_EQ(inbox_.cancellations.size(), 1u);
  EXPECT_EQ(inbox_.cancellations[0].handle, handle);
  EXPECT_EQ(inbox_.cancellations[0].error.value().cause, ErrorCause::kCancelled);
  queue_.NoteEnded(1);
  queue_.Cancel(handle, Error(ErrorCause::kCancelled));
  queue_.Take(&inbox_);
  EXPECT_TRUE(inbox_.cancellations.empty());
}

TEST_F(AdmissionQueueTest, WakesTheEngineForEveryKindOfWork) {
  for (const auto& act : std::vector<std::function<void()>>{
           [&] { Accept(); }, [&] { queue_.Cancel(1, Error(ErrorCause::kCancelled)); },
           [&] { queue_.Stop(Error(ErrorCause::kInternal)); }}) {
    std::thread engine([&] { queue_.WaitForWork(); });
    act();
    engine.join();
    queue_.Take(&inbox_);
  }
}

TEST_F(AdmissionQueueTest, IsIdleWhenAllHaveEnded) {
  EXPECT_TRUE(queue_.WaitIdle(InAMinute()));
  Accept();
  Accept();
  EXPECT_FALSE(queue_.WaitIdle(SteadyClock().Now()));
  std::thread engine([&] {
    queue_.Take(&inbox_);
    queue_.NoteEnded(1);
    queue_.NoteEnded(1);
  });
  EXPECT_TRUE(queue_.WaitIdle(InAMinute()));
  engine.join();
}

TEST(AdmissionQueueOptionsTest, ALimitBelowOneIsRefused) {
  const FakeClock clock;
  EXPECT_THROW(AdmissionQueue(0, clock), std::invalid_argument);
}

}  // namespace
}  // namespace affine
