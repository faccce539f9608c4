#include "server/api/errors/error_table.h"

#include <algorithm>

namespace affine {

namespace {

constexpr std::string_view kCaller = "invalid_request_error";
constexpr std::string_view kServer = "server_error";

}  // namespace

ErrorCodes CodesOf(ErrorCause cause) {
  switch (cause) {
    case ErrorCause::kBadInput:
      return {3, 400, kCaller, "bad_input", "INVALID_ARGUMENT"};
    case ErrorCause::kUnknownModel:
      return {5, 404, kCaller, "model_not_found", "NOT_FOUND"};
    case ErrorCause::kNotFound:
      return {12, 404, kCaller, "not_found", "UNIMPLEMENTED"};
    case ErrorCause::kTooLarge:
      return {8, 413, kCaller, "too_large", "RESOURCE_EXHAUSTED"};
    case ErrorCause::kFull:
      return {8, 429, "rate_limit_error", "queue_full", "RESOURCE_EXHAUSTED"};
    case ErrorCause::kGoal:
      return {8, 429, "rate_limit_error", "goal_out_of_reach", "RESOURCE_EXHAUSTED"};
    case ErrorCause::kUnavailable:
      return {14, 503, kServer, "unavailable", "UNAVAILABLE"};
    case ErrorCause::kDeadline:
      return {4, 504, "timeout_error", "deadline_exceeded", "DEADLINE_EXCEEDED"};
    case ErrorCause::kCancelled:
      return {1, 499, kCaller, "cancelled", "CANCELLED"};
    case ErrorCause::kNonFinite:
      return {13, 500, kServer, "non_finite_logits", "INTERNAL"};
    case ErrorCause::kUnauthenticated:
      return {16, 401, "authentication_error", "invalid_api_key", "UNAUTHENTICATED"};
    case ErrorCause::kInternal:
      break;
  }
  return {13, 500, kServer, "internal", "INTERNAL"};
}

int RetryAfterSeconds(const RequestError& error) {
  const bool passes = error.cause == ErrorCause::kFull || error.cause == ErrorCause::kGoal ||
                      error.cause == ErrorCause::kUnavailable;
  return passes ? std::max(1, error.retry_after_seconds) : 0;
}

}  // namespace affine
