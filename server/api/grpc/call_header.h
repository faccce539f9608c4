// What a gRPC call says beside its message: metadata and deadline in, ids and error details out.
#pragma once

#include <grpcpp/grpcpp.h>

#include <optional>
#include <string>
#include <string_view>

#include "server/request/clock.h"
#include "server/request/request_error.h"

namespace affine {

/// A view of a call's context, which outlives it. One thread at a time.
class CallHeader {
 public:
  explicit CallHeader(grpc::CallbackServerContext* context);
  /// The metadata under `name` (lower case); empty if there is none.
  std::string_view Metadata(const std::string& name) const;
  /// The RPC's deadline on the steady clock that `clock` reads; none if the caller set none.
  std::optional<Clock::Time> Deadline(const Clock& clock) const;
  /// True if the deadline has passed or is about to: a caller's own timer may go off a little
  /// before the server's, and then looks like a cancel.
  bool deadline_reached() const;
  /// Sends `id` back as initial metadata `x-request-id`. Before the first write or the end.
  void SendRequestId(const std::string& id);
  /// The status for `error`. Adds trailers: `error-code` (the cause by name), `error-param` (the
  /// field at fault, if any) and `retry-after` (seconds, see RetryAfterSeconds). Once, at the end.
  grpc::Status StatusOf(const RequestError& error);

 private:
  grpc::CallbackServerContext* context_;
};

}  // namespace affine
