// Whether a request that just came can be as fast as its caller wants.
#pragma once

#include <optional>

#include "server/request/clock.h"
#include "server/request/request.h"
#include "server/request/request_error.h"
#include "server/scheduler/forecast.h"

namespace affine {

/// None if `forecast`, made at `now`, is within the request's goals, or it has none; else kGoal
/// with what is expected, the goal, and in how many seconds that may be otherwise: so much as it is
/// late, in which what is ahead gets shorter.
std::optional<RequestError> WhyTooSlow(const Request& request, const Forecast& forecast,
                                       Clock::Time now);

}  // namespace affine
