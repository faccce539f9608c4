#include "server/api/grpc/completion_intake.h"

#include <utility>

#include "server/api/grpc/outcome.h"
#include "server/request/request_id.h"

namespace affine {

CompletionIntake::CompletionIntake(const ServedModels& models, const Clock& clock,
                                   ApiObserver& observer, const std::string& api_key)
    : models_(models), clock_(clock), observer_(observer), key_(api_key) {}

std::optional<RequestError> CompletionIntake::CheckKey(const CallHeader& header) const {
  if (key_.Accepts(header.Metadata("authorization"))) return std::nullopt;
  return RequestError{ErrorCause::kUnauthenticated,
                      "the metadata `authorization` does not carry this server's API key; send "
                      "`Bearer KEY`",
                      "authorization"};
}

CompletionIntake::Identity CompletionIntake::Identify(const CallHeader& header,
                                                      std::string_view wanted) {
  if (wanted.empty()) wanted = header.Metadata("x-request-id");
  if (wanted.empty()) return {NewRequestId(), std::nullopt};
  if (auto error = CheckRequestId(wanted)) return {NewRequestId(), std::move(error)};
  return {std::string(wanted), std::nullopt};
}

RequestError CompletionIntake::Refuse(const std::string& request_id, RequestError error) const {
  observer_.OnRefused(request_id, error);
  return error;
}

std::variant<std::string, RequestError> CompletionIntake::Read(CallHeader& header,
                                                               const grpc::ByteBuffer& bytes,
                                                               google::protobuf::Message& message,
                                                               CallAccess access) const {
  std::optional<RequestError> error;
  if (access == CallAccess::kWithKey) error = CheckKey(header);
  if (!error) error = ParseMessage(bytes, message);
  Identity caller = Identify(header, "");
  header.SendRequestId(caller.id);
  if (!error) error = std::move(caller.error);
  if (error) return Refuse(caller.id, *std::move(error));
  return std::move(caller.id);
}

std::variant<std::shared_ptr<CompletionCall>, RequestError> CompletionIntake::Start(
    CallHeader& header, const ParamsReader& read, Clock::Time arrival,
    std::function<void()> on_ready) const {
  CompletionParams params;
  std::optional<RequestError> error = CheckKey(header);
  if (!error) error = OutcomeOf([&] { return read(params); });
  Identity caller = Identify(header, params.request_id);
  header.SendRequestId(caller.id);
  if (!error) error = std::move(caller.error);
  params.request_id = std::move(caller.id);
  params.arrival = arrival;
  params.deadline = header.Deadline(clock_);
  return Submit(std::move(params), std::move(error), std::move(on_ready));
}

std::variant<std::shared_ptr<CompletionCall>, RequestError> CompletionIntake::StartOneOfMany(
    const CallHeader& header, const ParamsReader& read, Clock::Time arrival,
    std::function<void()> on_ready) const {
  CompletionParams params;
  std::optional<RequestError> error = OutcomeOf([&] { return read(params); });
  if (params.request_id.empty() || CheckRequestId(params.request_id)) {
    params.request_id = NewRequestId();
  }
  params.arrival = arrival;
  params.deadline = header.Deadline(clock_);
  return Submit(std::move(params), std::move(error), std::move(on_ready));
}

std::variant<std::shared_ptr<CompletionCall>, RequestError> CompletionIntake::Submit(
    CompletionParams params, std::optional<RequestError> error,
    std::function<void()> on_ready) const {
  const std::string id = params.request_id;
  if (error) return Refuse(id, *std::move(error));
  try {
    auto started = StartCompletion(std::move(params), models_, std::move(on_ready));
    if (auto* bad = std::get_if<RequestError>(&started)) return Refuse(id, std::move(*bad));
    return started;
  } catch (const std::exception& fault) {  // on one of the edge's threads, which serve all calls
    return Refuse(id, FaultOf(fault));
  }
}

}  // namespace affine
