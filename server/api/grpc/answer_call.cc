#include "server/api/grpc/answer_call.h"

#include <boost/asio/post.hpp>

#include "server/api/grpc/answer_reactor.h"
#include "server/api/grpc/message_parser.h"

namespace affine {

grpc::ServerUnaryReactor* AnswerCall(const ServiceParts& parts, const UnaryCall& call,
                                     std::shared_ptr<google::protobuf::Message> request,
                                     std::shared_ptr<google::protobuf::Message> response,
                                     std::function<Outcome()> work, CallAccess access) {
  auto* reactor = new AnswerReactor(parts.counter);
  boost::asio::post(
      parts.executor, [reactor, &intake = parts.intake, call, request = std::move(request),
                       response = std::move(response), work = std::move(work), access] {
        CallHeader header(call.context);
        auto read = intake.Read(header, *call.request, *request, access);
        if (auto* error = std::get_if<RequestError>(&read)) {
          reactor->Finish(header.StatusOf(*error));
          return;
        }
        if (Outcome error = OutcomeOf(work)) {
          const RequestError told = intake.Refuse(std::get<std::string>(read), *std::move(error));
          reactor->Finish(header.StatusOf(told));
          return;
        }
        *call.response = BytesOf(*response);
        reactor->Finish(grpc::Status::OK);
      });
  return reactor;
}

}  // namespace affine
