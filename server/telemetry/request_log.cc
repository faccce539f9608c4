#include "server/telemetry/request_log.h"

#include <cmath>
#include <utility>

#include "server/api/errors/error_table.h"

namespace affine {
namespace {

constexpr char kLogger[] = "affine.requests";

/// Milliseconds to three places.
double Milliseconds(Clock::Duration duration) {
  return std::round(std::chrono::duration<double, std::micro>(duration).count()) / 1000.0;
}

std::string_view ReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kUnstable:
      return "unstable";
    case FinishReason::kError:
      return "error";
  }
  return "error";
}

LogLevel LevelOf(ErrorCause cause) {
  switch (cause) {
    case ErrorCause::kInternal:
    case ErrorCause::kNonFinite:
      return LogLevel::kError;
    case ErrorCause::kCancelled:
      return LogLevel::kInfo;
    default:
      return LogLevel::kWarning;
  }
}

/// Appends what went wrong, and says how loudly to say so.
LogLevel AddError(const RequestError& error, LogFields* fields) {
  const ErrorCodes codes = CodesOf(error.cause);
  (*fields)["code"] = codes.grpc_name;
  (*fields)["cause"] = codes.code;
  (*fields)["error"] = error.MessageForLog();
  if (!error.param.empty()) (*fields)["param"] = error.param;
  return LevelOf(error.cause);
}

}  // namespace

RequestLog::RequestLog(ServerLog& log, std::string model_name)
    : log_(log), model_name_(std::move(model_name)) {}

void RequestLog::OnFinish(const Request& request, const RequestFinish& finish) {
  LogFields fields = {{"request_id", request.id},
                      {"model", model_name_},
                      {"prompt_tokens", finish.prompt_tokens},
                      {"output_tokens", finish.output_tokens},
                      {"cached_tokens", finish.cached_tokens}};
  if (request.answer > 0) fields["answer"] = request.answer;  // of several, each has a line
  if (finish.first_scheduled) {
    fields["queue_ms"] = Milliseconds(*finish.first_scheduled - finish.arrival);
  }
  const std::optional<Clock::Time> first =
      finish.first_write ? finish.first_write : finish.first_token;
  if (first) fields["ttft_ms"] = Milliseconds(*first - finish.arrival);
  fields["duration_ms"] = Milliseconds(finish.finished - finish.arrival);
  if (finish.preemptions > 0) fields["preemptions"] = finish.preemptions;
  fields["finish_reason"] = ReasonName(finish.reason);
  LogLevel level = LogLevel::kInfo;
  if (finish.error) {
    level = AddError(*finish.error, &fields);
  } else {
    fields["code"] = "OK";
  }
  log_.Write(level, kLogger, "request finished", fields);
}

// What is not finite ends the request, and its line says so.
void RequestLog::OnUnstable(const Request& request, const LimitBreach& breach) {
  if (breach.limit == StabilityLimit::kNonFinite) return;
  LogFields fields = {{"request_id", request.id},      {"model", model_name_},
                      {"limit", NameOf(breach.limit)}, {"value", breach.value},
                      {"bound", breach.bound},         {"layer", breach.layer}};
  if (breach.head >= 0) fields["head"] = breach.head;
  log_.Write(LogLevel::kWarning, kLogger, "attention unstable", fields);
}

void RefusalLog::Write(const std::string& request_id, const RequestError& error) {
  LogFields fields = {{"request_id", request_id}};
  const LogLevel level = AddError(error, &fields);
  log_.Write(level, kLogger, "request refused", fields);
}

}  // namespace affine
