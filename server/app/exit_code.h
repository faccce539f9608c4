// What the process tells whoever started it.
#pragma once

#include <string>

namespace affine {

enum class ExitCode {
  kDone = 0,          // drained, or asked for help or the version
  kFailure = 1,       // failed while running
  kUsage = 2,         // a flag or an environment variable is wrong
  kUnavailable = 69,  // the port or the device can't be had (EX_UNAVAILABLE)
  kBroken = 70,       // an invariant is broken (EX_SOFTWARE)
  kConfig = 78,       // the model or a file of the configuration can't be used (EX_CONFIG)
};

/// How a run ended. `cause` is written for a person: the thing, its value, what is allowed, the
/// remedy; empty with kDone.
struct Outcome {
  ExitCode code = ExitCode::kDone;
  std::string cause;
};

}  // namespace affine
