// What every service of the gRPC server shares.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <string>

#include "server/api/grpc/call_counter.h"
#include "server/api/grpc/completion_intake.h"

namespace affine {

/// References outlive the services and their calls.
struct ServiceParts {
  const CompletionIntake& intake;
  CallCounter& counter;
  boost::asio::any_io_executor executor;  // runs until no call is in flight
  std::string server_version;
};

}  // namespace affine
