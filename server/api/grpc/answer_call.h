// Unary calls that one piece of work answers at once.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <utility>

#include "server/api/grpc/outcome.h"
#include "server/api/grpc/service_parts.h"

namespace affine {

/// As gRPC hands it to a method; all three outlive the call.
struct UnaryCall {
  grpc::CallbackServerContext* context;
  const grpc::ByteBuffer* request;
  grpc::ByteBuffer* response;
};

/// Reads the call's bytes into `request`, runs `work`, which fills in `response`, on the parts'
/// executor and sends it. An exception of `work` is the call's error. `parts` outlives the call.
grpc::ServerUnaryReactor* AnswerCall(const ServiceParts& parts, const UnaryCall& call,
                                     std::shared_ptr<google::protobuf::Message> request,
                                     std::shared_ptr<google::protobuf::Message> response,
                                     std::function<Outcome()> work, CallAccess access);

/// The same with messages of these types.
template <typename Request, typename Response>
grpc::ServerUnaryReactor* AnswerCall(const ServiceParts& parts, const UnaryCall& call,
                                     std::function<Outcome(const Request&, Response&)> work,
                                     CallAccess access = CallAccess::kWithKey) {
  auto request = std::make_shared<Request>();
  auto response = std::make_shared<Response>();
  return AnswerCall(
      parts, call, request, response,
      [request, response, work = std::move(work)] { return work(*request, *response); }, access);
}

}  // namespace affine
