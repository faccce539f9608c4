#include "server/api/grpc/completion_intake.h"

#include <utility>

#include "server/api/grpc/proto_codec.h"
#include "server/request/request_id.h"

namespace affine {

CompletionIntake::CompletionIntake(const ServedModels& models, const Clock& clock,
                                   ApiObserver& observer, const std::string& api_key)
    : models_(models), clock_(clock), observer_(observer), key_(api_key) {}

std::optional<RequestError> CompletionIntake::Parse(const CallHeader& header,
                                                    const grpc::ByteBuffer& bytes,
                                                    google::protobuf::Message& message) const {
  if (!key_.Accepts(header.Metadata("authorization"))) {
    return RequestError{ErrorCause::kUnauthenticated,
                        "the metadata `authorization` does not carry this server's API key; send "
                        "`Bearer KEY`",
                        "authorization"};
  }
  return ParseMessage(bytes, message);
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

std::variant<std::string, RequestError> CompletionIntake::Read(
    CallHeader& header, const grpc::ByteBuffer& bytes, google::protobuf::Message& message) const {
  std::optional<RequestError> error = Parse(header, bytes, message);
  Identity caller = Identify(header, "");
  header.SendRequestId(caller.id);
  if (!error) error = std::move(caller.error);
  if (error) return Refuse(caller.id, *std::move(error));
  return std::move(caller.id);
}

std::variant<std::shared_ptr<CompletionCall>, RequestError> CompletionIntake::Start(
    CallHeader& header, const grpc::ByteBuffer& bytes, bool stream, Clock::Time arrival,
    std::function<void()> on_ready) const {
  v1::CompleteRequest message;
  std::optional<RequestError> error = Parse(header, bytes, message);
  Identity caller = Identify(header, error ? std::string() : message.request_id());
  header.SendRequestId(caller.id);
  if (!error) error = std::move(caller.error);
  if (error) return Refuse(caller.id, *std::move(error));
  auto read = ParamsOf(std::move(message));
  if (auto* bad = std::get_if<RequestError>(&read)) return Refuse(caller.id, std::move(*bad));
  auto& params = std::get<CompletionParams>(read);
  params.request_id = caller.id;
  params.stream = stream;
  params.arrival = arrival;
  params.deadline = header.Deadline(clock_);
  try {
    auto started = StartCompletion(std::move(params), models_, std::move(on_ready));
    if (auto* bad = std::get_if<RequestError>(&started)) return Refuse(caller.id, std::move(*bad));
    return started;
  } catch (const std::exception& fault) {  // on one of the edge's threads, which serve all calls
    return Refuse(caller.id, FaultOf(fault));
  }
}

}  // namespace affine
