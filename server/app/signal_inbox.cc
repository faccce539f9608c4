#include "server/app/signal_inbox.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>

namespace affine {
namespace {

[[noreturn]] void Fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

SignalInbox::SignalInbox() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  if (const int error = pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0) {
    errno = error;
    Fail("SIGTERM and SIGINT could not be blocked");
  }
  // A caller that hangs up must not end the process.
  if (std::signal(SIGPIPE, SIG_IGN) == SIG_ERR) Fail("SIGPIPE could not be ignored");
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) Fail("no descriptor for signals");
  wakes_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
  if (wakes_ < 0) {
    close(signals_);
    Fail("no descriptor for events");
  }
}

SignalInbox::~SignalInbox() {
  close(signals_);
  close(wakes_);
}

SignalInbox::Event SignalInbox::Wait(std::optional<std::chrono::milliseconds> timeout) {
  using Time = std::chrono::steady_clock;
  const Time::time_point end = timeout ? Time::now() + *timeout : Time::time_point::max();
  while (true) {
    int wait_ms = -1;
    if (timeout) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Time::now());
      wait_ms = left.count() > 0 ? static_cast<int>(left.count()) : 0;
    }
    pollfd descriptors[] = {{signals_, POLLIN, 0}, {wakes_, POLLIN, 0}};
    const int ready = poll(descriptors, 2, wait_ms);
    if (ready < 0 && errno != EINTR) Fail("waiting for signals failed");
    signalfd_siginfo signal;
    if (read(signals_, &signal, sizeof signal) == sizeof signal) return Event::kSignal;
    uint64_t count = 0;
    if (read(wakes_, &count, sizeof count) == sizeof count) return Event::kWake;
    if (ready == 0) return Event::kTimeout;
  }
}

void SignalInbox::Wake() {
  const uint64_t one = 1;
  if (write(wakes_, &one, sizeof one) != sizeof one) Fail("an event could not be told");
}

}  // namespace affine
