#include "server/api/grpc/oip/infer_session.h"

#include <utility>

#include "server/api/grpc/message_parser.h"

namespace affine {

std::optional<RequestError> InferSession::ReadParams(const grpc::ByteBuffer& bytes,
                                                     CompletionParams& params) {
  inference::ModelInferRequest message;
  if (auto error = ParseMessage(bytes, message)) return error;
  InferForm form;
  auto error = ReadInferRequest(message, form, params);
  answer_ = InferAnswer(std::move(form), /*whole=*/true);
  return error;
}

void InferSession::Started(const std::shared_ptr<CompletionCall>& call) {
  model_name_ = call->model_name();
}

bool InferSession::Deliver(const CompletionChunk& chunk, const CompletionCall& call) {
  if (chunk.first_token) NoteFirstToken(*chunk.first_token);
  answer_.Gather(chunk);
  return true;
}

void InferSession::Conclude(const CompletionChunk* last, const CompletionCall* call,
                            grpc::Status status) {
  if (!model_name_.empty()) counts_.Count(model_name_, status.ok(), intake().Now() - arrival());
  if (last != nullptr) Deliver(*last, *call);
  if (last != nullptr && status.ok()) *response_ = BytesOf(answer_.Take(*call));
  Finish(std::move(status));
}

}  // namespace affine
