// vllm.grpc.engine.VllmEngine.
#pragma once

#include <atomic>

#include "server/api/grpc/service_parts.h"
#include "server/api/grpc/vllm/running_requests.h"
#include "vllm/grpc/engine/vllm_engine.grpc.pb.h"

namespace affine {

/// The generated service with every method in the callback API and its messages as bytes.
using RawVllmEngine = ::vllm::grpc::engine::VllmEngine::WithRawCallbackMethod_Generate<
    ::vllm::grpc::engine::VllmEngine::WithRawCallbackMethod_Abort<
        ::vllm::grpc::engine::VllmEngine::WithRawCallbackMethod_HealthCheck<
            ::vllm::grpc::engine::VllmEngine::WithRawCallbackMethod_GetModelInfo<
                ::vllm::grpc::engine::VllmEngine::WithRawCallbackMethod_GetServerInfo<
                    ::vllm::grpc::engine::VllmEngine::WithRawCallbackMethod_GetLoads<
                        ::vllm::grpc::engine::VllmEngine::Service>>>>>>;

/// Methods return at once; all work runs on the parts' executor. `parts` outlives the service.
class EngineService final : public RawVllmEngine {
 public:
  explicit EngineService(const ServiceParts& parts) : parts_(parts), started_(parts.intake.Now()) {}

  grpc::ServerWriteReactor<grpc::ByteBuffer>* Generate(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* Abort(grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* HealthCheck(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetModelInfo(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetLoads(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;

 private:
  const ServiceParts& parts_;
  const Clock::Time started_;
  std::atomic<double> last_receive_ = 0;  // of a Generate; seconds since 1970
  RunningRequests running_;
};

}  // namespace affine
