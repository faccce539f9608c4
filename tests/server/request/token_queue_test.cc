#include "server/request/token_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace affine {
namespace {

TokenEvent Token(int32_t id) {
  TokenEvent event;
  event.tokens.push_back({id, 0, 0, {}});
  return event;
}

TEST(TokenQueueTest, TellsOnceUntilItIsDrained) {
  int told = 0;
  TokenQueue queue([&] { ++told; });
  queue.Push(Token(1));
  queue.Push(Token(2));
  EXPECT_EQ(told, 1);
  const auto events = queue.Drain();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].tokens[0].id, 1);
  EXPECT_EQ(events[1].tokens[0].id, 2);
  queue.Push(Token(3));
  EXPECT_EQ(told, 2);
}

TEST(TokenQueueTest, AfterCloseNothingIsKeptOrTold) {
  int told = 0;
  TokenQueue queue([&] { ++told; });
  queue.Push(Token(1));
  queue.Close();
  queue.Push(Token(2));
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(queue.Drain().empty());
}

TEST(TokenQueueTest, CloseDropsWhatItWouldHaveTold) {
  auto told = std::make_shared<int>(0);
  TokenQueue queue([told] { ++*told; });
  EXPECT_EQ(told.use_count(), 2);
  queue.Close();
  EXPECT_EQ(told.use_count(), 1);
}

TEST(TokenQueueTest, KnowsWhenTheFirstTokenWasWritten) {
  TokenQueue queue([] {});
  EXPECT_EQ(queue.first_write(), std::nullopt);
  const Clock::Time when(std::chrono::seconds(7));
  queue.NoteFirstWrite(when);
  EXPECT_EQ(queue.first_write(), when);
}

TEST(TokenQueueTest, NoEventIsLostBetweenThreads) {
  constexpr int32_t kEvents = 20000;
  TokenQueue queue([] {});
  std::jthread engine([&] {
    for (int32_t id = 0; id < kEvents; ++id) queue.Push(Token(id));
  });
  int32_t next = 0;
  while (next < kEvents) {
    for (const TokenEvent& event : queue.Drain()) {
      ASSERT_EQ(event.tokens[0].id, next);
      ++next;
    }
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace affine
