// Generate: chunks as token ids, and a complete message at the end.
#pragma once

#include <memory>
#include <optional>

#include "server/api/grpc/completion_session.h"
#include "server/api/grpc/vllm/generate_answer.h"
#include "server/api/grpc/vllm/running_requests.h"

namespace affine {

class GenerateSession final : public CompletionSession,
                              public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  /// `running` outlives the call.
  GenerateSession(const ServiceParts& parts, RunningRequests& running,
                  grpc::CallbackServerContext* context, const grpc::ByteBuffer* request)
      : CompletionSession(parts, context, request), running_(running) {}

 private:
  void OnWriteDone(bool ok) override;
  void OnCancel() override { Interrupt(); }
  void OnDone() override { Release(); }
  std::optional<RequestError> ReadParams(const grpc::ByteBuffer& bytes,
                                         CompletionParams& params) override;
  void Started(const std::shared_ptr<CompletionCall>& call) override;
  bool Deliver(const CompletionChunk& chunk, const CompletionCall& call) override;
  void Conclude(const CompletionChunk* last, const CompletionCall* call,
                grpc::Status status) override;
  /// Writes a stream's piece.
  void Write(const CompletionChunk& chunk, const ::vllm::grpc::engine::GenerateResponse& response);

  RunningRequests& running_;
  std::shared_ptr<void> abortable_;  // while the request runs
  GenerateAnswer answer_;
  grpc::ByteBuffer message_;  // of the write in flight
  /// What follows the write in flight, the RPC's end with it: a message, unless there was an error.
  struct Ending {
    std::optional<grpc::ByteBuffer> message;
    grpc::Status status;
  };
  std::optional<Ending> ending_;
  void End(Ending ending);
};

}  // namespace affine
