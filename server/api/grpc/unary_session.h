// Complete: the chunks gathered into one answer.
#pragma once

#include "affine/v1/completion.pb.h"
#include "server/api/grpc/completion_session.h"

namespace affine {

class UnarySession final : public CompletionSession, public grpc::ServerUnaryReactor {
 public:
  /// `response` is gRPC's and outlives the call.
  UnarySession(const ServiceParts& parts, grpc::CallbackServerContext* context,
               const grpc::ByteBuffer* request, grpc::ByteBuffer* response);

 private:
  void OnCancel() override { Interrupt(); }
  void OnDone() override { Release(); }
  std::optional<RequestError> ReadParams(const grpc::ByteBuffer& bytes,
                                         CompletionParams& params) override;
  bool Deliver(const CompletionChunk& chunk, const CompletionCall& call) override;
  void Conclude(const CompletionChunk* last, const CompletionCall* call,
                grpc::Status status) override;

  void Append(const CompletionChunk& chunk, const CompletionCall& call);

  v1::CompleteResponse answer_;
  grpc::ByteBuffer* response_;
};

}  // namespace affine
