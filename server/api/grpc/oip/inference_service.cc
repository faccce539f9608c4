#include "server/api/grpc/oip/inference_service.h"

#include <memory>
#include <string>
#include <variant>

#include "server/api/grpc/answer_call.h"
#include "server/api/grpc/oip/infer_request.h"
#include "server/api/grpc/oip/infer_session.h"
#include "server/api/grpc/oip/infer_stream.h"
#include "server/api/grpc/oip/model_pages.h"

namespace affine {

namespace {

/// Triton's names for what this server has of its extensions of the protocol.
constexpr const char* kExtensions[] = {"model_configuration", "parameters", "statistics"};

/// Has `use` take the model under `name`; the outcome is why there is none.
template <typename Use>
Outcome WithModel(const ServedModels& models, const std::string& name, const std::string& version,
                  Use use) {
  if (auto error = CheckVersion(version)) return error;
  auto found = models.Find(name);
  if (auto* error = std::get_if<RequestError>(&found)) return std::move(*error);
  use(*std::get<const ServedModel*>(found));
  return std::nullopt;
}

}  // namespace

grpc::ServerUnaryReactor* InferenceService::ServerLive(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  return AnswerCall<inference::ServerLiveRequest, inference::ServerLiveResponse>(
      parts_, {context, request, response},
      [](const inference::ServerLiveRequest&, inference::ServerLiveResponse& answer) {
        answer.set_live(true);
        return Outcome();
      },
      CallAccess::kOpen);
}

grpc::ServerUnaryReactor* InferenceService::ServerReady(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request,
                                                        grpc::ByteBuffer* response) {
  return AnswerCall<inference::ServerReadyRequest, inference::ServerReadyResponse>(
      parts_, {context, request, response},
      [this](const inference::ServerReadyRequest&, inference::ServerReadyResponse& answer) {
        answer.set_ready(parts_.intake.models().ready());
        return Outcome();
      },
      CallAccess::kOpen);
}

grpc::ServerUnaryReactor* InferenceService::ModelReady(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  return AnswerCall<inference::ModelReadyRequest, inference::ModelReadyResponse>(
      parts_, {context, request, response},
      [this](const inference::ModelReadyRequest& message, inference::ModelReadyResponse& answer) {
        const auto ready = [&](const ServedModel&) { answer.set_ready(true); };
        WithModel(parts_.intake.models(), message.name(), message.version(),
                  ready);  // else not ready
        return Outcome();
      },
      CallAccess::kOpen);
}

grpc::ServerUnaryReactor* InferenceService::ServerMetadata(grpc::CallbackServerContext* context,
                                                           const grpc::ByteBuffer* request,
                                                           grpc::ByteBuffer* response) {
  return AnswerCall<inference::ServerMetadataRequest, inference::ServerMetadataResponse>(
      parts_, {context, request, response},
      [this](const inference::ServerMetadataRequest&, inference::ServerMetadataResponse& answer) {
        answer.set_name("affine_server");
        answer.set_version(parts_.server_version);
        for (const char* extension : kExtensions) answer.add_extensions(extension);
        return Outcome();
      });
}

grpc::ServerUnaryReactor* InferenceService::ModelMetadata(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request,
                                                          grpc::ByteBuffer* response) {
  return AnswerCall<inference::ModelMetadataRequest, inference::ModelMetadataResponse>(
      parts_, {context, request, response},
      [this](const inference::ModelMetadataRequest& message,
             inference::ModelMetadataResponse& answer) {
        return WithModel(parts_.intake.models(), message.name(), message.version(),
                         [&](const ServedModel& model) { answer = MetadataOf(model); });
      });
}

grpc::ServerUnaryReactor* InferenceService::ModelConfig(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request,
                                                        grpc::ByteBuffer* response) {
  return AnswerCall<inference::ModelConfigRequest, inference::ModelConfigResponse>(
      parts_, {context, request, response},
      [this](const inference::ModelConfigRequest& message, inference::ModelConfigResponse& answer) {
        return WithModel(
            parts_.intake.models(), message.name(), message.version(),
            [&](const ServedModel& model) { *answer.mutable_config() = ConfigOf(model); });
      });
}

grpc::ServerUnaryReactor* InferenceService::ModelStatistics(grpc::CallbackServerContext* context,
                                                            const grpc::ByteBuffer* request,
                                                            grpc::ByteBuffer* response) {
  return AnswerCall<inference::ModelStatisticsRequest, inference::ModelStatisticsResponse>(
      parts_, {context, request, response},
      [this](const inference::ModelStatisticsRequest& message,
             inference::ModelStatisticsResponse& answer) {
        const ServedModels& models = parts_.intake.models();
        const auto add = [&](const ServedModel& model) {
          *answer.add_model_stats() = counts_.StatisticsOf(model.name);
        };
        if (!message.name().empty())
          return WithModel(models, message.name(), message.version(), add);
        for (const ServedModel* model : models.List()) add(*model);
        return Outcome();
      });
}

grpc::ServerUnaryReactor* InferenceService::RepositoryIndex(grpc::CallbackServerContext* context,
                                                            const grpc::ByteBuffer* request,
                                                            grpc::ByteBuffer* response) {
  return AnswerCall<inference::RepositoryIndexRequest, inference::RepositoryIndexResponse>(
      parts_, {context, request, response},
      [this](const inference::RepositoryIndexRequest& message,
             inference::RepositoryIndexResponse& answer) {
        answer = IndexOf(parts_.intake.models(), message.ready());
        return Outcome();
      });
}

grpc::ServerUnaryReactor* InferenceService::ModelInfer(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  auto session = std::make_shared<InferSession>(parts_, counts_, context, request, response);
  session->Begin();
  return session.get();
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* InferenceService::ModelStreamInfer(
    grpc::CallbackServerContext* context) {
  auto stream = std::make_shared<InferStream>(parts_, counts_, context);
  stream->Begin();
  return stream.get();
}

}  // namespace affine
