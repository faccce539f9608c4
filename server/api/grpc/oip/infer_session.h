// ModelInfer: the chunks gathered into one response.
#pragma once

#include <string>

#include "server/api/grpc/completion_session.h"
#include "server/api/grpc/oip/infer_answer.h"
#include "server/api/grpc/oip/infer_counts.h"

namespace affine {

class InferSession final : public CompletionSession, public grpc::ServerUnaryReactor {
 public:
  /// `counts` outlives the call, as gRPC's `response` does.
  InferSession(const ServiceParts& parts, InferCounts& counts, grpc::CallbackServerContext* context,
               const grpc::ByteBuffer* request, grpc::ByteBuffer* response)
      : CompletionSession(parts, context, request), counts_(counts), response_(response) {}

 private:
  void OnCancel() override { Interrupt(); }
  void OnDone() override { Release(); }
  std::optional<RequestError> ReadParams(const grpc::ByteBuffer& bytes,
                                         CompletionParams& params) override;
  void Started(const std::shared_ptr<CompletionCall>& call) override;
  bool Deliver(const CompletionChunk& chunk, const CompletionCall& call) override;
  void Conclude(const CompletionChunk* last, const CompletionCall* call,
                grpc::Status status) override;

  InferCounts& counts_;
  InferAnswer answer_;
  std::string model_name_;  // empty until the completion runs
  grpc::ByteBuffer* response_;
};

}  // namespace affine
