// Why a request was not, or not wholly, answered. One table in server/api maps
// causes to codes.
#pragma once

#include <exception>
#include <string>

namespace affine {

enum class ErrorCause {
  kBadInput,         // names field, value and limit
  kUnknownModel,     // lists the served ones
  kNotFound,         // no such route or method
  kTooLarge,         // the body is over the limit
  kFull,             // the queue is at its limit; try again later
  kGoal,             // it would be slower than its goals allow; try again later
  kUnavailable,      // loading or draining
  kDeadline,         // the caller's deadline passed
  kCancelled,        // the caller went away or cancelled
  kNonFinite,        // this sequence's logits were not finite
  kInternal,         // a fault of the server's own
  kUnauthenticated,  // an API key is asked for, and none or a wrong one was
                     // given
};

struct RequestError {
  ErrorCause cause = ErrorCause::kInternal;
  std::string message;
  std::string param;  // the field at fault, as the caller spells it; may be empty
  // With kFull, kGoal and kUnavailable: a hint; 0 leaves it to the edge.
  int retry_after_seconds = 0;
  // For the log, where `message` repeats text that the caller sent: the same
  // without that text.
  std::string log_message = {};
  std::string model_name = {};  // for the metrics: which served model refused; empty: none
  const std::string& MessageForLog() const { return log_message.empty() ? message : log_message; }
};

/// What a caller is told when its request made the server throw.
inline RequestError FaultOf(const std::exception& fault) {
  return {.cause = ErrorCause::kInternal,
          .message = std::string("the server failed on this request: ") + fault.what(),
          .param = {},
          .retry_after_seconds = 0};
}

}  // namespace affine
