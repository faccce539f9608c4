// affine.v1.CompletionService.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <string>

#include "affine/v1/completion.grpc.pb.h"
#include "server/api/grpc/call_counter.h"
#include "server/api/grpc/completion_intake.h"

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

/// Methods return at once; all work runs on `executor`, which runs until no call is in flight.
/// References outlive the service.
class CompletionService final : public RawCompletionService {
 public:
  CompletionService(const CompletionIntake& intake, CallCounter& counter,
                    boost::asio::any_io_executor executor, std::string server_version);

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
  using Outcome = std::optional<RequestError>;
  /// Posts a call that answers at once: `work` turns the request into the response.
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response,
                                   std::function<Outcome(const Request&, Response&)> work);

  const CompletionIntake& intake_;
  CallCounter& counter_;
  const boost::asio::any_io_executor executor_;
  const std::string server_version_;
};

}  // namespace affine
