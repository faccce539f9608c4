#include "server/api/grpc/stream_session.h"

#include <utility>

#include "server/api/grpc/message_parser.h"
#include "server/api/grpc/proto_codec.h"

namespace affine {

std::optional<RequestError> StreamSession::ReadParams(const grpc::ByteBuffer& bytes,
                                                      CompletionParams& params) {
  std::optional<RequestError> error = ReadCompleteRequest(bytes, params);
  params.stream = true;
  return error;
}

void StreamSession::Prepare(const CompletionChunk& chunk, const CompletionCall& call) {
  message_ = BytesOf(ChunkMessage(chunk, call, std::exchange(first_, false)));
  if (chunk.first_token) NoteFirstWrite();
}

bool StreamSession::Deliver(const CompletionChunk& chunk, const CompletionCall& call) {
  Prepare(chunk, call);
  StartWrite(&message_);
  return false;
}

void StreamSession::Conclude(const CompletionChunk* last, const CompletionCall* call,
                             grpc::Status status) {
  const bool empty = last == nullptr || (last->token_ids.empty() && last->text.empty());
  if (empty && !status.ok()) {
    Finish(std::move(status));
    return;
  }
  Prepare(*last, *call);
  StartWriteAndFinish(&message_, grpc::WriteOptions(), std::move(status));
}

}  // namespace affine
