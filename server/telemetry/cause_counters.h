// Counts errors by their cause.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include <array>
#include <string>

#include "server/request/request_error.h"

namespace affine {

/// Every cause: the closed set of the label `cause`.
inline constexpr std::array kErrorCauses = {ErrorCause::kBadInput,     ErrorCause::kUnauthenticated,
                                            ErrorCause::kUnknownModel, ErrorCause::kNotFound,
                                            ErrorCause::kTooLarge,     ErrorCause::kFull,
                                            ErrorCause::kUnavailable,  ErrorCause::kDeadline,
                                            ErrorCause::kCancelled,    ErrorCause::kNonFinite,
                                            ErrorCause::kGoal,         ErrorCause::kInternal};

/// One counter for each cause, all made at once. Thread-safe.
class CauseCounters {
 public:
  /// `registry` outlives this.
  CauseCounters(prometheus::Registry& registry, const std::string& model_name, const char* name,
                const char* help);
  /// A cause that the list lacks counts as kInternal.
  void Increment(ErrorCause cause);

 private:
  std::array<prometheus::Counter*, kErrorCauses.size()> counters_;  // in the list's order
};

}  // namespace affine
