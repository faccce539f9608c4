#include "server/api/grpc/completion_service.h"

#include <memory>
#include <utility>
#include <vector>

#include "server/api/grpc/answer_call.h"
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

RequestError BadId(int index, uint32_t id, int32_t vocab_size) {
  return {ErrorCause::kBadInput,
          "`ids[" + std::to_string(index) + "]` is " + std::to_string(id) +
              "; it must be a token id in [0, " + std::to_string(vocab_size - 1) + "]",
          "ids"};
}

}  // namespace

grpc::ServerUnaryReactor* CompletionService::Complete(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) {
  auto session = std::make_shared<UnarySession>(parts_, context, request, response);
  session->Begin();
  return session.get();
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* CompletionService::StreamComplete(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  auto session = std::make_shared<StreamSession>(parts_, context, request);
  session->Begin();
  return session.get();
}

grpc::ServerUnaryReactor* CompletionService::Tokenize(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) {
  return AnswerCall<v1::TokenizeRequest, v1::TokenizeResponse>(
      parts_, {context, request, response},
      [this](const v1::TokenizeRequest& message, v1::TokenizeResponse& answer) {
        Outcome error;
        const ServedModel* model = ModelOf(parts_.intake.models(), message.model(), error);
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
  return AnswerCall<v1::DetokenizeRequest, v1::DetokenizeResponse>(
      parts_, {context, request, response},
      [this](const v1::DetokenizeRequest& message, v1::DetokenizeResponse& answer) {
        Outcome error;
        const ServedModel* model = ModelOf(parts_.intake.models(), message.model(), error);
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
  return AnswerCall<v1::GetAttentionRequest, v1::GetAttentionResponse>(
      parts_, {context, request, response},
      [this](const v1::GetAttentionRequest& message, v1::GetAttentionResponse& answer) {
        auto read = AttentionOf(parts_.intake.models(), message.model());
        if (auto* error = std::get_if<RequestError>(&read)) return Outcome(std::move(*error));
        answer = AttentionMessage(std::get<ServedAttention>(read));
        return Outcome();
      });
}

grpc::ServerUnaryReactor* CompletionService::GetModel(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) {
  return AnswerCall<v1::GetModelRequest, v1::ModelDescription>(
      parts_, {context, request, response},
      [this](const v1::GetModelRequest& message, v1::ModelDescription& answer) {
        Outcome error;
        const ServedModel* model = ModelOf(parts_.intake.models(), message.model(), error);
        if (model != nullptr) answer = DescriptionOf(*model, parts_.server_version);
        return error;
      });
}

grpc::ServerUnaryReactor* CompletionService::ListModels(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request,
                                                        grpc::ByteBuffer* response) {
  return AnswerCall<v1::ListModelsRequest, v1::ListModelsResponse>(
      parts_, {context, request, response},
      [this](const v1::ListModelsRequest&, v1::ListModelsResponse& answer) {
        for (const ServedModel* model : parts_.intake.models().List()) {
          *answer.add_models() = DescriptionOf(*model, parts_.server_version);
        }
        return Outcome();
      });
}

}  // namespace affine
