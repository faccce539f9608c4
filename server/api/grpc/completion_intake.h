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

/// Whether a call must carry the API key, where the server has one.
enum class CallAccess { kWithKey, kOpen };

/// Thread-safe. References outlive it.
class CompletionIntake {
 public:
  /// Fills in what a call's message asks for; `request_id` also where the rest is wrong.
  using ParamsReader = std::function<std::optional<RequestError>(CompletionParams&)>;

  CompletionIntake(const ServedModels& models, const Clock& clock, ApiObserver& observer,
                   const std::string& api_key);
  /// Checks the key, reads the message and finds the call's id, which goes into the initial
  /// metadata and is returned. What is refused is told to the observer.
  std::variant<std::string, RequestError> Read(CallHeader& header, const grpc::ByteBuffer& bytes,
                                               google::protobuf::Message& message,
                                               CallAccess access = CallAccess::kWithKey) const;
  /// Starts the completion that a call asks for. `arrival` is when the RPC came.
  std::variant<std::shared_ptr<CompletionCall>, RequestError> Start(
      CallHeader& header, const ParamsReader& read, Clock::Time arrival,
      std::function<void()> on_ready) const;
  /// The same for one of many requests of a call whose key was checked: without a fit id of its own
  /// it gets a new one, and none goes into the initial metadata.
  std::variant<std::shared_ptr<CompletionCall>, RequestError> StartOneOfMany(
      const CallHeader& header, const ParamsReader& read, Clock::Time arrival,
      std::function<void()> on_ready) const;
  /// Why the call may not be answered.
  std::optional<RequestError> CheckKey(const CallHeader& header) const;
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
  /// Starts a completion whose parameters were read with the outcome `error`.
  std::variant<std::shared_ptr<CompletionCall>, RequestError> Submit(
      CompletionParams params, std::optional<RequestError> error,
      std::function<void()> on_ready) const;

  const ServedModels& models_;
  const Clock& clock_;
  ApiObserver& observer_;
  const BearerKey key_;
};

}  // namespace affine
