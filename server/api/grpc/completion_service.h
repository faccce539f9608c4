// affine.v1.CompletionService.
#pragma once

#include "affine/v1/completion.grpc.pb.h"
#include "server/api/grpc/service_parts.h"

namespace affine {

/// The generated service with every method in the callback API and its messages as bytes: broken
/// messages then get an answer of ours (see ParseMessage).
using RawCompletionService = v1::CompletionService::WithRawCallbackMethod_Complete<
    v1::CompletionService::WithRawCallbackMethod_StreamComplete<
        v1::CompletionService::WithRawCallbackMethod_Tokenize<
            v1::CompletionService::WithRawCallbackMethod_Detokenize<
                v1::CompletionService::WithRawCallbackMethod_GetAttention<
                    v1::CompletionService::WithRawCallbackMethod_GetModel<
                        v1::CompletionService::WithRawCallbackMethod_ListModels<
                            v1::CompletionService::Service>>>>>>>;

/// Methods return at once; all work runs on the parts' executor. `parts` outlives the service.
class CompletionService final : public RawCompletionService {
 public:
  explicit CompletionService(const ServiceParts& parts) : parts_(parts) {}

  grpc::ServerUnaryReactor* Complete(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* StreamComplete(
      grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* Tokenize(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Detokenize(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetAttention(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetModel(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListModels(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;

 private:
  const ServiceParts& parts_;
};

}  // namespace affine
