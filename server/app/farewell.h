// The last words of a process that failed.
#pragma once

#include <string>

#include "server/app/exit_code.h"
#include "server/telemetry/server_log.h"

namespace affine {

/// Where Kubernetes looks for the reason that a container ended.
inline constexpr char kTerminationLog[] = "/dev/termination-log";

/// Writes the cause as the last lines on stderr and, if `termination_log` exists and can be
/// written, its first 4096 bytes there. Nothing is written without a cause. Returns the code as a
/// number for exit().
int SayFarewell(const Outcome& outcome, const std::string& termination_log = kTerminationLog);

/// Ends the process when its threads can no longer be waited for: writes out `log`, says farewell.
[[noreturn]] void EndNow(ServerLog& log, const Outcome& outcome);

/// From now on an exception that nobody catches, on any thread, ends the process with
/// ExitCode::kBroken and its text as the last line on stderr.
void InstallFarewellForUncaught();

}  // namespace affine
