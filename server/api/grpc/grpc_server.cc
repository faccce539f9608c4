#include "server/api/grpc/grpc_server.h"

#include <fcntl.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "server/api/grpc/call_counter.h"
#include "server/api/grpc/completion_intake.h"
#include "server/api/grpc/completion_service.h"
#include "server/api/grpc/oip/inference_service.h"
#include "server/api/grpc/service_parts.h"
#include "server/api/grpc/unserved_methods.h"
#include "server/api/grpc/vllm/engine_service.h"

namespace affine {

namespace {

using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

constexpr int kMostReflectionThreads = 16;

/// Those that are ready when the models are.
constexpr const char* kServices[] = {v1::CompletionService::service_full_name(),
                                     ::inference::GRPCInferenceService::service_full_name(),
                                     ::vllm::grpc::engine::VllmEngine::service_full_name()};

/// Clients may ping every 10 s while they have no call; half of that allows for jitter. Our own
/// pings find peers that vanished, so that their requests don't run on.
void SetConnectionLimits(grpc::ServerBuilder& builder, const GrpcServerOptions& options) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_concurrent_streams);
  builder.SetMaxReceiveMessageSize(static_cast<int>(
      std::min<int64_t>(options.max_receive_bytes, std::numeric_limits<int>::max())));
}

/// Reflection is the one synchronous service: it needs few threads, and may not take more.
void SetThreads(grpc::ServerBuilder& builder) {
  using Option = grpc::ServerBuilder::SyncServerOption;
  builder.SetSyncServerOption(Option::NUM_CQS, 1);
  builder.SetSyncServerOption(Option::MIN_POLLERS, 1);
  builder.SetSyncServerOption(Option::MAX_POLLERS, 1);
  grpc::ResourceQuota quota("affine_grpc");
  quota.SetMaxThreads(kMostReflectionThreads);
  builder.SetResourceQuota(quota);
}

}  // namespace

struct GrpcServer::Parts {
  Parts(const GrpcServerOptions& options, const ServedModels& models, const Clock& clock,
        ApiObserver& observer, boost::asio::any_io_executor executor)
      : intake(models, clock, observer, options.api_key),
        shared{intake, counter, std::move(executor), options.version},
        completions(shared),
        inference(shared),
        vllm_engine(shared) {}

  CallCounter counter;
  CompletionIntake intake;
  ServiceParts shared;
  CompletionService completions;
  InferenceService inference;
  EngineService vllm_engine;
  UnservedMethods unserved;
  std::unique_ptr<Acceptor> acceptor;
  std::unique_ptr<grpc::Server> server;
  std::once_flag shutdown;
  std::mutex acceptor_mutex;
  bool closed = false;  // no more connections; under acceptor_mutex
};

GrpcServer::GrpcServer(GrpcServerOptions options, const ServedModels& models, const Clock& clock,
                       ApiObserver& observer, boost::asio::any_io_executor executor)
    : parts_(std::make_unique<Parts>(options, models, clock, observer, std::move(executor))) {
  // Both are switches of the whole process in gRPC, to be set before a server is built.
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetConnectionLimits(builder, options);
  SetThreads(builder);
  builder.RegisterService(&parts_->completions);
  builder.RegisterService(&parts_->inference);
  builder.RegisterService(&parts_->vllm_engine);
  builder.RegisterCallbackGenericService(&parts_->unserved);
  parts_->acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      grpc::InsecureServerCredentials());
  parts_->server = builder.BuildAndStart();
  if (parts_->server == nullptr) {
    throw std::runtime_error("gRPC did not start; its own log on stderr says why");
  }
  SetServing(false);
}

GrpcServer::~GrpcServer() { Shutdown(Clock::Time::min()); }

void GrpcServer::HandOver(int fd) {
  std::lock_guard lock(parts_->acceptor_mutex);
  if (parts_->closed) {  // gRPC 1.51 would neither serve nor close it
    close(fd);
    return;
  }
  // gRPC reads and writes without waiting, and sends small frames at once.
  const int flags = fcntl(fd, F_GETFL);
  fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  Acceptor::NewConnectionParameters connection;
  connection.fd = fd;
  parts_->acceptor->HandleNewConnection(&connection);
}

void GrpcServer::SetServing(bool serving) {
  grpc::HealthCheckServiceInterface& health = *parts_->server->GetHealthCheckService();
  for (const char* service : kServices) health.SetServingStatus(service, serving);
}

void GrpcServer::Shutdown(Clock::Time deadline) {
  std::call_once(parts_->shutdown, [&] {
    SetServing(false);
    // gRPC's own graceful shutdown would wait for health watches, which never end by themselves.
    parts_->counter.AwaitNone(deadline);
    {
      std::lock_guard lock(parts_->acceptor_mutex);
      parts_->closed = true;
    }
    parts_->server->Shutdown(std::chrono::system_clock::now());
    parts_->server->Wait();
  });
}

}  // namespace affine
