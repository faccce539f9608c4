// The attention's statistics as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "server/request/served_attention.h"
#include "server/request/stability_summary.h"

namespace affine {

// Members carry the names of affine.v1, in its order; what is absent there is absent here. Matrices
// are arrays of rows. A value that is not finite becomes null once it is written.

nlohmann::ordered_json SummaryJson(const StabilitySummary& summary);

/// {object, model, observed_steps, and the members of AttentionHeads}.
nlohmann::ordered_json AttentionJson(const ServedAttention& attention);

}  // namespace affine
