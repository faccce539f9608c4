// StreamComplete: one message for each chunk, one write in flight.
#pragma once

#include "server/api/grpc/completion_session.h"

namespace affine {

class StreamSession final : public CompletionSession,
                            public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  using CompletionSession::CompletionSession;

 private:
  void OnWriteDone(bool ok) override { Delivered(ok); }
  void OnCancel() override { Interrupt(); }
  void OnDone() override { Release(); }
  std::optional<RequestError> ReadParams(const grpc::ByteBuffer& bytes,
                                         CompletionParams& params) override;
  bool Deliver(const CompletionChunk& chunk, const CompletionCall& call) override;
  void Conclude(const CompletionChunk* last, const CompletionCall* call,
                grpc::Status status) override;
  /// Puts the chunk into message_, which is written next.
  void Prepare(const CompletionChunk& chunk, const CompletionCall& call);

  grpc::ByteBuffer message_;  // of the write in flight
  bool first_ = true;
};

}  // namespace affine
