// gRPC on connections that were accepted elsewhere: the services, health and reflection.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "server/api/api_server.h"
#include "server/request/clock.h"
#include "server/request/served_models.h"

namespace affine {

struct GrpcServerOptions {
  std::string version;
  std::string api_key;                   // empty: none asked for; health and reflection never ask
  int64_t max_receive_bytes = 16 << 20;  // of one message
  int max_concurrent_streams = 1024;     // calls of one connection
};

/// Thread-safe. Listens nowhere: sockets come through HandOver.
class GrpcServer {
 public:
  /// References outlive the server; `executor` is run by other threads until Shutdown has returned.
  /// Throws std::runtime_error if gRPC does not start.
  GrpcServer(GrpcServerOptions options, const ServedModels& models, const Clock& clock,
             ApiObserver& observer, boost::asio::any_io_executor executor);
  ~GrpcServer();  // Shutdown at once
  /// Takes a connected stream socket, of which no byte was consumed, and owns it from now on.
  /// After Shutdown it is closed.
  void HandOver(int fd);
  /// What grpc.health.v1 says of every service that answers completions; NOT_SERVING until the
  /// first call.
  /// The empty name is always SERVING.
  void SetServing(bool serving);
  /// Waits for calls in flight until `deadline`, then cuts off what is left (health watches too).
  /// Not from a thread that runs the executor's work.
  void Shutdown(Clock::Time deadline);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace affine
