// Why a request was not, or not wholly, answered. One table in server/api maps causes to codes.
#pragma once

#include <string>

namespace affine {

enum class ErrorCause {
  kBadInput,         // names field, value and limit
  kUnknownModel,     // lists the served ones
  kNotFound,         // no such route or method
  kTooLarge,         // the body is over the limit
  kFull,             // the queue is at its limit; try again later
  kUnavailable,      // loading or draining
  kDeadline,         // the caller's deadline passed
  kCancelled,        // the caller went away or cancelled
  kNonFinite,        // this sequence's logits were not finite
  kInternal,         // a fault of the server's own
  kUnauthenticated,  // an API key is asked for, and none or a wrong one was given
};

struct RequestError {
  ErrorCause cause = ErrorCause::kInternal;
  std::string message;
  std::string param;            // the field at fault, as the caller spells it; may be empty
  int retry_after_seconds = 0;  // with kFull and kUnavailable: a hint; 0 is none
};

}  // namespace affine
