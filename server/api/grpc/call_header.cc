#include "server/api/grpc/call_header.h"

#include <chrono>

#include "server/api/errors/error_table.h"

namespace affine {

namespace {

using SystemClock = std::chrono::system_clock;

constexpr auto kDeadlineSlack = std::chrono::milliseconds(20);

}  // namespace

CallHeader::CallHeader(grpc::CallbackServerContext* context) : context_(context) {}

std::string_view CallHeader::Metadata(const std::string& name) const {
  const auto found = context_->client_metadata().find(name);
  if (found == context_->client_metadata().end()) return {};
  return {found->second.data(), found->second.size()};
}

std::optional<Clock::Time> CallHeader::Deadline(const Clock& clock) const {
  const SystemClock::time_point deadline = context_->deadline();
  if (deadline == SystemClock::time_point::max()) return std::nullopt;
  const auto left = deadline - SystemClock::now();
  return clock.Now() + std::chrono::duration_cast<Clock::Duration>(left);
}

bool CallHeader::deadline_reached() const {
  const SystemClock::time_point deadline = context_->deadline();
  return deadline != SystemClock::time_point::max() &&
         deadline <= SystemClock::now() + kDeadlineSlack;
}

void CallHeader::SendRequestId(const std::string& id) {
  context_->AddInitialMetadata("x-request-id", id);
}

grpc::Status CallHeader::StatusOf(const RequestError& error) {
  const ErrorCodes codes = CodesOf(error.cause);
  context_->AddTrailingMetadata("error-code", std::string(codes.code));
  if (!error.param.empty()) context_->AddTrailingMetadata("error-param", error.param);
  if (const int seconds = RetryAfterSeconds(error); seconds > 0) {
    context_->AddTrailingMetadata("retry-after", std::to_string(seconds));
  }
  return {static_cast<grpc::StatusCode>(codes.grpc_status), error.message};
}

}  // namespace affine
