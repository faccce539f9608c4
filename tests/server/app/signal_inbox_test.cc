#include "server/app/signal_inbox.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

namespace affine {
namespace {

using std::chrono::milliseconds;
using Event = SignalInbox::Event;

TEST(SignalInboxTest, ReadsSignalsInsteadOfDying) {
  SignalInbox inbox;
  kill(getpid(), SIGTERM);
  EXPECT_EQ(inbox.Wait(), Event::kSignal);
  kill(getpid(), SIGINT);
  EXPECT_EQ(inbox.Wait(), Event::kSignal);
  EXPECT_EQ(inbox.Wait(milliseconds(0)), Event::kTimeout);
}

TEST(SignalInboxTest, EachWakeEndsOneWait) {
  SignalInbox inbox;
  inbox.Wake();
  inbox.Wake();
  EXPECT_EQ(inbox.Wait(), Event::kWake);
  EXPECT_EQ(inbox.Wait(), Event::kWake);
  EXPECT_EQ(inbox.Wait(milliseconds(1)), Event::kTimeout);
}

TEST(SignalInboxTest, AWakeFromAnotherThreadEndsAWait) {
  SignalInbox inbox;
  std::thread waker([&inbox] { inbox.Wake(); });
  EXPECT_EQ(inbox.Wait(), Event::kWake);
  waker.join();
}

TEST(SignalInboxTest, ASignalGoesBeforeAWake) {
  SignalInbox inbox;
  inbox.Wake();
  kill(getpid(), SIGTERM);
  EXPECT_EQ(inbox.Wait(), Event::kSignal);
  EXPECT_EQ(inbox.Wait(), Event::kWake);
}

TEST(SignalInboxTest, ACallerThatHangsUpDoesNotEndTheProcess) {
  const SignalInbox inbox;
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  close(ends[1]);
  EXPECT_EQ(write(ends[0], "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  close(ends[0]);
}

}  // namespace
}  // namespace affine
