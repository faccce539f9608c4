#include "server/api/grpc/vllm/engine_service.h"

#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <variant>

#include "server/api/grpc/answer_call.h"
#include "server/api/grpc/vllm/engine_info.h"
#include "server/api/grpc/vllm/generate_session.h"

namespace affine {

namespace {

namespace wire = ::vllm::grpc::engine;
using SystemClock = std::chrono::system_clock;

double UnixSeconds() {
  return std::chrono::duration<double>(SystemClock::now().time_since_epoch()).count();
}

/// "2026-01-31T12:00:00Z"
std::string TimestampNow() {
  const std::time_t now = SystemClock::to_time_t(SystemClock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

/// Has `use` take the first served model; the outcome is why there is none.
template <typename Use>
Outcome WithFirstModel(const ServedModels& models, Use use) {
  auto found = models.Find("");
  if (auto* error = std::get_if<RequestError>(&found)) return std::move(*error);
  use(*std::get<const ServedModel*>(found));
  return std::nullopt;
}

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* EngineService::Generate(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  last_receive_ = UnixSeconds();
  auto session = std::make_shared<GenerateSession>(parts_, running_, context, request);
  session->Begin();
  return session.get();
}

grpc::ServerUnaryReactor* EngineService::Abort(grpc::CallbackServerContext* context,
                                               const grpc::ByteBuffer* request,
                                               grpc::ByteBuffer* response) {
  return AnswerCall<wire::AbortRequest, wire::AbortResponse>(
      parts_, {context, request, response},
      [this](const wire::AbortRequest& message, wire::AbortResponse&) {
        const RequestError why{ErrorCause::kCancelled, "the request was ended by Abort", ""};
        for (const std::string& id : message.request_ids()) running_.Abort(id, why);
        return Outcome();
      });
}

grpc::ServerUnaryReactor* EngineService::HealthCheck(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request,
                                                     grpc::ByteBuffer* response) {
  return AnswerCall<wire::HealthCheckRequest, wire::HealthCheckResponse>(
      parts_, {context, request, response},
      [this](const wire::HealthCheckRequest&, wire::HealthCheckResponse& answer) {
        answer.set_healthy(parts_.intake.models().ready());
        answer.set_message(answer.healthy() ? "every model is loaded" : "loading or draining");
        return Outcome();
      },
      CallAccess::kOpen);
}

grpc::ServerUnaryReactor* EngineService::GetModelInfo(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request,
                                                      grpc::ByteBuffer* response) {
  return AnswerCall<wire::GetModelInfoRequest, wire::GetModelInfoResponse>(
      parts_, {context, request, response},
      [this](const wire::GetModelInfoRequest&, wire::GetModelInfoResponse& answer) {
        return WithFirstModel(parts_.intake.models(),
                              [&](const ServedModel& model) { answer = ModelInfoMessage(model); });
      });
}

grpc::ServerUnaryReactor* EngineService::GetServerInfo(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  return AnswerCall<wire::GetServerInfoRequest, wire::GetServerInfoResponse>(
      parts_, {context, request, response},
      [this](const wire::GetServerInfoRequest&, wire::GetServerInfoResponse& answer) {
        return WithFirstModel(parts_.intake.models(), [&](const ServedModel& model) {
          answer = ServerInfoMessage(model);
          const std::chrono::duration<double> up = parts_.intake.Now() - started_;
          answer.set_uptime_seconds(up.count());
          answer.set_last_receive_timestamp(last_receive_);
        });
      });
}

grpc::ServerUnaryReactor* EngineService::GetLoads(grpc::CallbackServerContext* context,
                                                  const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  return AnswerCall<wire::GetLoadsRequest, wire::GetLoadsResponse>(
      parts_, {context, request, response},
      [this](const wire::GetLoadsRequest& message, wire::GetLoadsResponse& answer) {
        return WithFirstModel(parts_.intake.models(), [&](const ServedModel& model) {
          answer.set_timestamp(TimestampNow());
          answer.set_version(parts_.server_version);
          if (message.dp_rank() == 0) *answer.add_loads() = LoadMessage(model);
          answer.set_dp_rank_count(answer.loads_size());
        });
      });
}

}  // namespace affine
