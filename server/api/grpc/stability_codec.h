// The attention's statistics as affine.v1's messages.
#pragma once

#include "affine/v1/completion.pb.h"
#include "server/request/served_attention.h"
#include "server/request/stability_summary.h"

namespace affine {

v1::AttentionHeads HeadsMessage(const AttentionMatrices& matrices);

v1::StabilitySummary SummaryMessage(const StabilitySummary& summary);

v1::GetAttentionResponse AttentionMessage(const ServedAttention& attention);

}  // namespace affine
