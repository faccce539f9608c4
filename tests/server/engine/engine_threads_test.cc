#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "tests/server/engine/engine_fixture.h"

namespace affine {
namespace {

class EngineThreadsTest : public EngineFixture {
 protected:
  static constexpr int kThreads = 4;
  static constexpr int kRequests = 60;

  // Submits and cancels at random; what is refused is counted and let go.
  void Client(int number, std::vector<Trial>* accepted) {
    std::mt19937 random(number);
    for (int i = 0; i < kRequests; ++i) {
      Trial trial;
      trial.request.id = std::to_string(number) + "-" + std::to_string(i);
      trial.request.prompt.assign(1 + random() % 30, static_cast<int32_t>(random() % 3));
      trial.request.max_tokens = static_cast<int32_t>(random() % 20);
      trial.request.arrival = clock_.Now();
      trial.request.sink = trial.sink;
      if (TrySubmit(trial)) continue;
      accepted->push_back(trial);
      if (random() % 3 == 0) {
        engine_->Cancel((*accepted)[random() % accepted->size()].handle, Cancelled());
      }
      if (random() % 4 == 0) trial.sink->WaitFinish();
      EXPECT_LE(engine_->load().blocks_used, engine_->load().blocks_total);
    }
  }

  // Every accepted request has ended once, whole or cancelled or with `other`.
  void ExpectAllEnded(const std::vector<std::vector<Trial>>& accepted,
                      std::optional<ErrorCause> other) {
    for (const auto& trials : accepted) {
      for (const Trial& trial : trials) {
        ASSERT_EQ(trial.sink->finishes(), 1);
        const std::optional<RequestError> error = trial.sink->finish()->error;
        if (!error) {
          ExpectWhole(trial);
        } else {
          EXPECT_TRUE(error->cause == ErrorCause::kCancelled || error->cause == other);
        }
      }
    }
    EXPECT_EQ(engine_->load().blocks_used, 0);
    EXPECT_EQ(engine_->load().running + engine_->load().waiting, 0);
  }
};

TEST_F(EngineThreadsTest, RequestsOfManyThreadsEndExactlyOnce) {
  Use({.num_blocks = 24}, {.max_num_batched_tokens = 16, .max_num_seqs = 6});
  std::thread runner([&] { engine_->Run(); });
  std::vector<std::vector<Trial>> accepted(kThreads);
  std::vector<std::thread> clients;
  for (int i = 0; i < kThreads; ++i) {
    clients.emplace_back([this, i, &accepted] { Client(i, &accepted[i]); });
  }
  for (std::thread& client : clients) client.join();
  engine_->Drain();
  EXPECT_TRUE(engine_->WaitIdle(SteadyClock().Now() + std::chrono::minutes(2)));
  engine_->Stop(Cancelled());
  runner.join();
  ExpectAllEnded(accepted, std::nullopt);
  size_t total = 0;
  for (const auto& trials : accepted) total += trials.size();
  EXPECT_EQ(total, size_t{kThreads} * kRequests);
}

TEST_F(EngineThreadsTest, StoppingInTheMiddleEndsEveryAcceptedRequest) {
  Use({.num_blocks = 24},
      {.max_num_batched_tokens = 16, .max_num_seqs = 6, .max_num_queued_reqs = 8});
  std::thread runner([&] { engine_->Run(); });
  std::vector<std::vector<Trial>> accepted(kThreads);
  std::vector<std::thread> clients;
  for (int i = 0; i < kThreads; ++i) {
    clients.emplace_back([this, i, &accepted] { Client(i, &accepted[i]); });
  }
  Trial marker = MakeTrial({1, 2}, 20);
  while (TrySubmit(marker)) std::this_thread::yield();
  marker.sink->WaitFinish();
  engine_->Stop({.cause = ErrorCause::kUnavailable,
                 .message = "cut off",
                 .param = {},
                 .retry_after_seconds = 0});
  for (std::thread& client : clients) client.join();
  runner.join();
  ExpectAllEnded(accepted, ErrorCause::kUnavailable);
}

}  // namespace
}  // namespace affine
