#include "server/api/grpc/completion_service.h"

#include <boost/asio/post.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "server/api/grpc/answer_reactor.h"
#include "server/api/grpc/message_parser.h"
#include "server/api/grpc/proto_codec.h"
#include "server/api/grpc/stability_codec.h"
#include "server/api/grpc/stream_session.h"
#include "server/api/grpc/unary_session.h"

namespace affine {

namespace {

constexpr size_t kMostTokenizeBytes = 16 << 20;

/// The model under `name`, or the error that Find gave.
const ServedModel* ModelOf(const ServedModels& models, const std::string& name,
                           std::optional<RequestError>& error) {
  auto found = models.Find(name);
  if (auto* bad = std::get_if<RequestError>(&found)) {
    error = std::move(*bad);
    return nullptr;
  }
  return std::get<const ServedModel*>(found);
}

/// What `work` gives; an exception is the call's error, not the end of the thread it runs on.
std::optional<RequestError> OutcomeOf(const std::function<std::optional<RequestError>()>& work) {
  try {
    return work();
  } catch (const std::exception& fault) {
    return FaultOf(fault);
  }
}

RequestError BadId(int index, uint32_t id, int32_t vocab_size) {
  return {ErrorCause::kBadInput,
          "`ids[" + std::to_string(index) + "]` is " + std::to_string(id) +
              "; it must be a token id in [0, " + std::to_string(vocab_size - 1) + "]",
          "ids"};
}

}  // namespace

CompletionService::CompletionService(const CompletionIntake& intake, CallCounter& counter,
                                     boost::asio::any_io_executor executor,
                                     std::string server_version)
    : intake_(intake),
      counter_(counter),
      executor_(std::move(executor)),
      server_version_(std::move(server_version)) {}

grpc::ServerUnaryReactor* CompletionService::Complete(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) {
  auto session =
      std::make_shared<UnarySession>(intake_, counter_, executor_, context, request, response);
  session->Begin();
  return session.get();
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* CompletionService::StreamComplete(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  auto session = std::make_shared<StreamSession>(intake_, counter_, executor_, context, request);
  session->Begin();
  return session.get();
}

template <typename Request, typename Response>
grpc::ServerUnaryReactor* CompletionService::Answer(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response, std::function<Outcome(const Request&, Response&)> work) {
  auto* reactor = new AnswerReactor(counter_);
  boost::asio::post(executor_, [this, reactor, context, request, response, work = std::move(work)] {
    CallHeader header(context);
    Request message;
    auto read = intake_.Read(header, *request, message);
    if (auto* error = std::get_if<RequestError>(&read)) {
      reactor->Finish(header.StatusOf(*error));
      return;
    }
    Response answer;
    if (Outcome error = OutcomeOf([&] { return work(message, answer); })) {
      const RequestError told = intake_.Refuse(std::get<std::string>(read), *std::move(error));
      reactor->Finish(header.StatusOf(told));
      return;
    }
    *response = BytesOf(answer);
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

grpc::ServerUnaryReactor* CompletionService::Tokenize(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) {
  return Answer<v1::TokenizeRequest, v1::TokenizeResponse>(
      context, request, response,
      [this](const v1::TokenizeRequest& message, v1::TokenizeResponse& answer) {
        Outcome error;
        const ServedModel* model = ModelOf(intake_.models(), message.model(), error);
        if (model == nullptr) return error;
        if (message.text().size() > kMostTokenizeBytes) {
          return Outcome(RequestError{ErrorCause::kBadInput,
                                      "`text` has " + std::to_string(message.text().size()) +
                                          " bytes; it must have at most " +
                                          std::to_string(kMostTokenizeBytes),
                                      "text"});
        }
        const bool special = !message.has_add_special_tokens() || message.add_special_tokens();
        answer = TokensMessage(*model, model->tokenizer->Encode(message.text(), special));
        return error;
      });
}

grpc::ServerUnaryReactor* CompletionService::Detokenize(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request,
                                                        grpc::ByteBuffer* response) {
  return Answer<v1::DetokenizeRequest, v1::DetokenizeResponse>(
      context, request, response,
      [this](const v1::DetokenizeRequest& message, v1::DetokenizeResponse& answer) {
        Outcome error;
        const ServedModel* model = ModelOf(intake_.models(), message.model(), error);
        if (model == nullptr) return error;
        const int32_t vocab_size = model->engine->info().vocab_size;
        for (int i = 0; i < message.ids_size(); ++i) {
          if (message.ids(i) >= static_cast<uint32_t>(vocab_size)) {
            return Outcome(BadId(i, message.ids(i), vocab_size));
          }
        }
        const std::vector<int32_t> ids(message.ids().begin(), message.ids().end());
        answer.set_text(model->tokenizer->Decode(ids, message.skip_special_tokens()));
        return error;
      });
}

grpc::ServerUnaryReactor* CompletionService::GetAttention(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request,
                                                          grpc::ByteBuffer* response) {
  return Answer<v1::GetAttentionRequest, v1::GetAttentionResponse>(
      context, request, response,
      [this](const v1::GetAttentionRequest& message, v1::GetAttentionResponse& answer) {
        auto read = AttentionOf(intake_.models(), message.model());
        if (auto* error = std::get_if<RequestError>(&read)) return Outcome(std::move(*error));
        answer = AttentionMessage(std::get<ServedAttention>(read));
        return Outcome();
      });
}

grpc::ServerUnaryReactor* CompletionService::GetModel(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) {
  return Answer<v1::GetModelRequest, v1::ModelDescription>(
      context, request, response,
      [this](const v1::GetModelRequest& message, v1::ModelDescription& answer) {
        Outcome error;
        const ServedModel* model = ModelOf(intake_.models(), message.model(), error);
        if (model != nullptr) answer = DescriptionOf(*model, server_version_);
        return error;
      });
}

grpc::ServerUnaryReactor* CompletionService::ListModels(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request,
                                                        grpc::ByteBuffer* response) {
  return Answer<v1::ListModelsRequest, v1::ListModelsResponse>(
      context, request, response,
      [this](const v1::ListModelsRequest&, v1::ListModelsResponse& answer) {
        for (const ServedModel* model : intake_.models().List()) {
          *answer.add_models() = DescriptionOf(*model, server_version_);
        }
        return Outcome();
      });
}

}  // namespace affine
