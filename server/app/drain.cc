#include "server/app/drain.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "server/app/farewell.h"

namespace affine {
namespace {

using std::chrono::milliseconds;

constexpr char kLogger[] = "affine.app";
/// For writing out the last words of calls whose requests have ended.
constexpr milliseconds kLastWords{1000};
/// After a second signal: how long threads may take to notice.
constexpr milliseconds kHardStop{2000};

}  // namespace

Outcome Drain::Run() {
  const Clock::Time deadline =
      parts_.clock.Now() +
      std::chrono::duration_cast<Clock::Duration>(std::chrono::duration<double>(timeout_seconds_));
  Close();
  std::atomic<bool> finished = false;
  std::thread finisher([this, deadline, &finished] {
    FinishCalls(deadline);
    finished = true;
    parts_.inbox.Wake();
  });
  Watch(finished);
  finisher.join();
  parts_.hosts.StopThreads();
  parts_.log.Write(LogLevel::kInfo, kLogger, "stopped");
  return {ExitCode::kDone, ""};
}

// Lines are logged once what they say is true, so that whoever reads them can rely on it.
void Drain::Close() {
  parts_.models.CloseForDrain();
  parts_.api.PublishReadiness();
  parts_.hosts.Drain();
  const EngineLoad load = parts_.hosts.load();
  parts_.log.Write(LogLevel::kInfo, kLogger, "draining",
                   {{"running", load.running},
                    {"waiting", load.waiting},
                    {"shutdown_timeout_seconds", timeout_seconds_}});
}

void Drain::Watch(const std::atomic<bool>& finished) {
  std::optional<milliseconds> patience;
  while (!finished) {
    const SignalInbox::Event event = parts_.inbox.Wait(patience);
    if (const auto failure = parts_.hosts.Failure()) EndNow(parts_.log, *failure);
    const bool third_signal = event == SignalInbox::Event::kSignal && patience;
    if (event == SignalInbox::Event::kTimeout || third_signal) {
      EndNow(parts_.log, {ExitCode::kDone, ""});
    }
    if (event == SignalInbox::Event::kSignal) {
      parts_.hosts.Stop();
      parts_.log.Write(LogLevel::kWarning, kLogger, "second signal: requests are cut off");
      patience = kHardStop;
    }
  }
}

void Drain::FinishCalls(Clock::Time deadline) {
  if (!parts_.hosts.WaitIdle(deadline)) {
    const EngineLoad load = parts_.hosts.load();
    parts_.hosts.Stop();
    parts_.log.Write(LogLevel::kWarning, kLogger,
                     "--shutdown_timeout is over: requests are cut off",
                     {{"running", load.running}, {"waiting", load.waiting}});
  }
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - parts_.clock.Now());
  parts_.api.Shutdown(std::max(left, kLastWords));
}

}  // namespace affine
