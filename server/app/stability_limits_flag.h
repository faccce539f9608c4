// --stability_limits: how far a request's attention may go.
#pragma once

#include "server/app/flag.h"

namespace affine {

/// LIMIT=NUMBER,..., any of largest_score, entropy and alpha_drift; what is not named has no limit.
Flag StabilityLimitsFlag();

}  // namespace affine
