#include "server/api/grpc/stream_session.h"

#include <utility>

#include "server/api/grpc/message_parser.h"
#include "server/api/grpc/proto_codec.h"

namespace affine {

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
  if (last == nullptr) {
    Finish(std::move(status));
    return;
  }
  Prepare(*last, *call);
  StartWriteAndFinish(&message_, grpc::WriteOptions(), std::move(status));
}

}  // namespace affine
