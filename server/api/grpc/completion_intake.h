// What happens to every call before its work: the key, the message, the id.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "server/api/api_server.h"
#include "server/api/grpc/call_header.h"
#include "server/api/grpc/message_parser.h"
#include "server/api/http/bearer_key.h"
#include "server/request/completion_call.h"

namespace affine {

/// Thread-safe. References outlive it.
class CompletionIntake {
 public:
  CompletionIntake(const ServedModels& models, const Clock& clock, ApiObserver& observer,
                   const std::string& api_key);
  /// Checks the key, reads the message and finds the call's id, which goes into the initial
  /// metadata and is returned. What is refused is told to the observer.
  std::variant<std::string, RequestError> Read(CallHeader& header, const grpc::ByteBuffer& bytes,
                                               google::protobuf::Message& message) const;
  /// Reads a CompleteRequest and starts its completion, whose answer goes out whole or as a stream.
  /// `arrival` is when the RPC came.
  std::variant<std::shared_ptr<CompletionCall>, RequestError> Start(
      CallHeader& header, const grpc::ByteBuffer& bytes, bool stream, Clock::Time arrival,
      std::function<void()> on_ready) const;
  const ServedModels& models() const { return models_; }
  Clock::Time Now() const { return clock_.Now(); }
  ApiObserver& observer() const { return observer_; }
  /// Tells the observer of `error`, which then goes to the caller.
  RequestError Refuse(const std::string& request_id, RequestError error) const;

 private:
  struct Identity {
    std::string id;                     // fit for a header
    std::optional<RequestError> error;  // the id that was given is not
  };
  /// `wanted` (the message's id), else the metadata's, else a new one.
  static Identity Identify(const CallHeader& header, std::string_view wanted);
  std::optional<RequestError> Parse(const CallHeader& header, const grpc::ByteBuffer& bytes,
                                    google::protobuf::Message& message) const;

  const ServedModels& models_;
  const Clock& clock_;
  ApiObserver& observer_;
  const BearerKey key_;
};

}  // namespace affine
