#include "server/api/grpc/unary_session.h"

#include <utility>

#include "server/api/grpc/message_parser.h"
#include "server/api/grpc/proto_codec.h"

namespace affine {

UnarySession::UnarySession(const ServiceParts& parts, grpc::CallbackServerContext* context,
                           const grpc::ByteBuffer* request, grpc::ByteBuffer* response)
    : CompletionSession(parts, context, request), response_(response) {}

std::optional<RequestError> UnarySession::ReadParams(const grpc::ByteBuffer& bytes,
                                                     CompletionParams& params) {
  return ReadCompleteRequest(bytes, params);
}

void UnarySession::Append(const CompletionChunk& chunk, const CompletionCall& call) {
  if (chunk.first_token) NoteFirstToken(*chunk.first_token);
  AppendChunk(chunk, call, answer_);
}

bool UnarySession::Deliver(const CompletionChunk& chunk, const CompletionCall& call) {
  Append(chunk, call);
  return true;
}

void UnarySession::Conclude(const CompletionChunk* last, const CompletionCall* call,
                            grpc::Status status) {
  if (last != nullptr) Append(*last, *call);
  if (last != nullptr && status.ok()) *response_ = BytesOf(answer_);
  Finish(std::move(status));
}

}  // namespace affine
