#include "server/api/grpc/vllm/generate_session.h"

#include <utility>

#include "server/api/grpc/message_parser.h"
#include "server/api/grpc/vllm/generate_request.h"

namespace affine {

namespace wire = ::vllm::grpc::engine;

std::optional<RequestError> GenerateSession::ReadParams(const grpc::ByteBuffer& bytes,
                                                        CompletionParams& params) {
  wire::GenerateRequest message;
  if (auto error = ParseMessage(bytes, message)) return error;
  answer_ = GenerateAnswer(message);
  return ReadGenerateRequest(message, params);
}

void GenerateSession::Started(const std::shared_ptr<CompletionCall>& call) {
  abortable_ = running_.Add(call->request_id(), call);
}

void GenerateSession::Write(const CompletionChunk& chunk, const wire::GenerateResponse& response) {
  message_ = BytesOf(response);
  if (chunk.first_token) NoteFirstWrite();
  StartWrite(&message_);
}

bool GenerateSession::Deliver(const CompletionChunk& chunk, const CompletionCall& call) {
  const wire::GenerateResponse response = answer_.Take(chunk, call);
  if (answer_.stream()) {
    Write(chunk, response);
    return false;
  }
  if (chunk.first_token) NoteFirstToken(*chunk.first_token);
  return true;
}

void GenerateSession::Conclude(const CompletionChunk* last, const CompletionCall* call,
                               grpc::Status status) {
  abortable_.reset();
  if (last == nullptr) {
    Finish(std::move(status));
    return;
  }
  const wire::GenerateResponse response = answer_.Take(*last, *call);
  const std::optional<RequestError>& error = last->end->error;
  Ending ending{std::nullopt, std::move(status)};
  if (!error || error->cause == ErrorCause::kCancelled) {  // Abort: its answer is still one
    ending.message = BytesOf(answer_.Complete(*last->end, *call));
    ending.status = grpc::Status::OK;
  }
  if (answer_.stream() && !last->token_ids.empty()) {
    ending_ = std::move(ending);
    Write(*last, response);
    return;
  }
  if (last->first_token) NoteFirstToken(*last->first_token);
  End(std::move(ending));
}

void GenerateSession::OnWriteDone(bool ok) {
  if (!ending_) return Delivered(ok);
  End(*std::exchange(ending_, std::nullopt));
}

void GenerateSession::End(Ending ending) {
  if (!ending.message) return Finish(std::move(ending.status));
  message_ = std::move(*ending.message);
  StartWriteAndFinish(&message_, grpc::WriteOptions(), std::move(ending.status));
}

}  // namespace affine
