// The one table from causes to the codes that callers see, over gRPC and over HTTP.
#pragma once

#include <string_view>

#include "server/request/request_error.h"

namespace affine {

/// How one cause is told to a caller.
struct ErrorCodes {
  int grpc_status = 2;         // a grpc::StatusCode
  int http_status = 500;       // RFC 9110, and 499 for a caller that went away
  std::string_view type;       // `error.type` in OpenAI's shape
  std::string_view code;       // `error.code` in OpenAI's shape: the cause by name, snake_case
  std::string_view grpc_name;  // "INVALID_ARGUMENT": the status by name, for logs
};

/// Total: every cause has codes. Thread-safe.
ErrorCodes CodesOf(ErrorCause cause);

/// The hint that goes with `error`, the same over gRPC and HTTP: at least 1 with kFull, kGoal
/// and kUnavailable, which may pass; 0, no hint, with every other cause.
int RetryAfterSeconds(const RequestError& error);

}  // namespace affine
