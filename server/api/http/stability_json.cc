#include "server/api/http/stability_json.h"

#include <optional>
#include <vector>

namespace affine {

namespace {

using nlohmann::ordered_json;

/// Adds `values` [rows, columns] as an array of rows, unless there are none at all.
template <typename Value>
void AddRows(const char* name, const std::vector<Value>& values, size_t columns,
             ordered_json& out) {
  if (values.empty()) return;
  ordered_json rows = ordered_json::array();
  for (size_t at = 0; at < values.size(); at += columns) {
    rows.push_back(std::vector<Value>(values.begin() + at, values.begin() + at + columns));
  }
  out[name] = std::move(rows);
}

void AddHeads(const AttentionMatrices& matrices, ordered_json& out) {
  const auto heads = static_cast<size_t>(matrices.num_heads);
  out["num_layers"] = matrices.num_layers;
  out["num_heads"] = matrices.num_heads;
  AddRows("queries", matrices.queries, heads, out);
  AddRows("non_finite", matrices.non_finite, heads, out);
  AddRows("entropy", matrices.entropy, heads, out);
  AddRows("first_token_mass", matrices.first_token_mass, heads, out);
  AddRows("mean_score", matrices.mean_score, heads, out);
  AddRows("largest_score", matrices.largest_score, heads, out);
  AddRows("sink_mass", matrices.sink_mass, heads, out);
  AddRows("weight_sum", matrices.weight_sum, heads, out);
  AddRows("negative_mass", matrices.negative_mass, heads, out);
  AddRows("alpha", matrices.alpha, heads, out);
  AddRows("alpha_deviation", matrices.alpha_deviation, heads, out);
  AddRows("alpha_at_zero", matrices.alpha_at_zero, heads, out);
  AddRows("alpha_at_one", matrices.alpha_at_one, heads, out);
  AddRows("alpha_ma", matrices.alpha_ma, heads, out);
  out["weight_sum_edges"] = WeightSumEdges();
  AddRows("weight_sum_counts", matrices.weight_sum_counts, WeightSumHistogram::kBins, out);
}

void AddWorst(const char* name, const std::optional<WorstHead>& worst, ordered_json& out) {
  if (!worst) return;
  out[name] = {{"value", worst->value}, {"layer", worst->layer}, {"head", worst->head}};
}

}  // namespace

ordered_json SummaryJson(const StabilitySummary& summary) {
  ordered_json json;
  json["queries"] = summary.queries;
  json["entropy"] = summary.entropy;
  AddWorst("worst_entropy", summary.worst_entropy, json);
  json["first_token_mass"] = summary.first_token_mass;
  AddWorst("worst_first_token_mass", summary.worst_first_token_mass, json);
  AddWorst("largest_score", summary.largest_score, json);
  if (summary.alpha) {
    json["alpha"] = summary.alpha->mean;
    json["alpha_at_zero"] = summary.alpha->at_zero;
    json["alpha_at_one"] = summary.alpha->at_one;
    json["alpha_drift"] = summary.alpha->drift;
    AddWorst("worst_alpha_drift", summary.alpha->worst_drift, json);
  }
  json["non_finite"] = summary.non_finite;
  if (summary.heads) AddHeads(*summary.heads, json["heads"]);
  return json;
}

ordered_json AttentionJson(const ServedAttention& attention) {
  ordered_json json;
  json["object"] = "attention";
  json["model"] = attention.model;
  json["observed_steps"] = attention.observed_steps;
  AddHeads(attention.heads, json);
  return json;
}

}  // namespace affine
