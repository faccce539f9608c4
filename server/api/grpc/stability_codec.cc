#include "server/api/grpc/stability_codec.h"

#include <optional>
#include <vector>

namespace affine {

namespace {

template <typename Value, typename Field>
void Fill(const std::vector<Value>& values, Field* field) {
  field->Assign(values.begin(), values.end());
}

v1::WorstHead WorstMessage(const WorstHead& worst) {
  v1::WorstHead message;
  message.set_value(worst.value);
  message.set_layer(worst.layer);
  message.set_head(worst.head);
  return message;
}

void SetAlpha(const StabilitySummary::Alpha& alpha, v1::StabilitySummary& message) {
  message.set_alpha(alpha.mean);
  message.set_alpha_at_zero(alpha.at_zero);
  message.set_alpha_at_one(alpha.at_one);
  message.set_alpha_drift(alpha.drift);
  if (alpha.worst_drift) *message.mutable_worst_alpha_drift() = WorstMessage(*alpha.worst_drift);
}

}  // namespace

v1::AttentionHeads HeadsMessage(const AttentionMatrices& matrices) {
  v1::AttentionHeads message;
  message.set_num_layers(matrices.num_layers);
  message.set_num_heads(matrices.num_heads);
  Fill(matrices.queries, message.mutable_queries());
  Fill(matrices.non_finite, message.mutable_non_finite());
  Fill(matrices.entropy, message.mutable_entropy());
  Fill(matrices.first_token_mass, message.mutable_first_token_mass());
  Fill(matrices.mean_score, message.mutable_mean_score());
  Fill(matrices.largest_score, message.mutable_largest_score());
  Fill(matrices.sink_mass, message.mutable_sink_mass());
  Fill(matrices.weight_sum, message.mutable_weight_sum());
  Fill(matrices.negative_mass, message.mutable_negative_mass());
  Fill(matrices.alpha, message.mutable_alpha());
  Fill(matrices.alpha_deviation, message.mutable_alpha_deviation());
  Fill(matrices.alpha_at_zero, message.mutable_alpha_at_zero());
  Fill(matrices.alpha_at_one, message.mutable_alpha_at_one());
  Fill(matrices.alpha_ma, message.mutable_alpha_ma());
  Fill(matrices.weight_sum_counts, message.mutable_weight_sum_counts());
  return message;
}

v1::StabilitySummary SummaryMessage(const StabilitySummary& summary) {
  v1::StabilitySummary message;
  message.set_queries(summary.queries);
  message.set_entropy(summary.entropy);
  if (summary.worst_entropy) {
    *message.mutable_worst_entropy() = WorstMessage(*summary.worst_entropy);
  }
  message.set_first_token_mass(summary.first_token_mass);
  if (summary.worst_first_token_mass) {
    *message.mutable_worst_first_token_mass() = WorstMessage(*summary.worst_first_token_mass);
  }
  if (summary.largest_score) {
    *message.mutable_largest_score() = WorstMessage(*summary.largest_score);
  }
  if (summary.alpha) SetAlpha(*summary.alpha, message);
  message.set_non_finite(summary.non_finite);
  if (summary.heads) *message.mutable_heads() = HeadsMessage(*summary.heads);
  return message;
}

v1::GetAttentionResponse AttentionMessage(const ServedAttention& attention) {
  v1::GetAttentionResponse message;
  message.set_model(attention.model);
  message.set_observed_steps(attention.observed_steps);
  *message.mutable_heads() = HeadsMessage(attention.heads);
  return message;
}

}  // namespace affine
