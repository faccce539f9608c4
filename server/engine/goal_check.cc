#include "server/engine/goal_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace affine {
namespace {

double Seconds(Clock::Duration duration) { return std::chrono::duration<double>(duration).count(); }

/// Milliseconds, to a tenth where they are few.
std::string Shown(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), seconds < 0.1 ? "%.1f" : "%.0f", seconds * 1000.0);
  return text;
}

RequestError TooSlow(const std::string& what, const char* field, double expected, double goal,
                     int32_t ahead) {
  const int retry = static_cast<int>(std::clamp(std::ceil(expected - goal), 1.0, 60.0));
  return {.cause = ErrorCause::kGoal,
          .message = what + Shown(expected) + " ms with " + std::to_string(ahead) +
                     " requests ahead, and `" + field + "` is " + Shown(goal) + "; try again in " +
                     std::to_string(retry) + " s, or with a wider goal",
          .param = field,
          .retry_after_seconds = retry};
}

}  // namespace

std::optional<RequestError> WhyTooSlow(const Request& request, const Forecast& forecast,
                                       Clock::Time now) {
  if (request.max_ttft) {
    const double expected = Seconds(now - request.arrival) + forecast.first_token;
    const double goal = Seconds(*request.max_ttft);
    if (expected > goal) {
      return TooSlow("the first token is expected after ", "max_ttft_ms", expected, goal,
                     forecast.ahead);
    }
  }
  if (request.max_time_per_token) {
    const double goal = Seconds(*request.max_time_per_token);
    if (forecast.per_token > goal) {
      return TooSlow("each token is expected to take ", "max_time_per_token_ms", forecast.per_token,
                     goal, forecast.ahead);
    }
  }
  return std::nullopt;
}

}  // namespace affine
