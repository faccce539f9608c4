#include "model/transformer/transformer_model.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace affine {
namespace {

AttentionShape ShapeOf(const ModelConfig& config) {
  return {config.num_heads, config.num_kv_heads, config.head_dim};
}

}  // namespace

TransformerModel::TransformerModel(Checkpoint checkpoint, const Plan& plan)
    : checkpoint_(std::move(checkpoint)),
      info_(plan.info),
      max_batched_tokens_(plan.max_batched_tokens),
      kernels_(KernelsFor(plan.isa)),
      team_(plan.num_threads),
      cache_(plan.cache),
      rotary_(checkpoint_.config(), info_.max_model_len),
      core_(ShapeOf(checkpoint_.config()), plan.cache.element, kernels_, team_),
      embedding_(checkpoint_.tensor("model.embed_tokens.weight"), plan.cache.element) {
  const ModelConfig& config = checkpoint_.config();
  const WeightFormat weights = plan.weights;
  for (int i = 0; i < config.num_layers; ++i) {
    layers_.push_back(std::make_unique<DecoderLayer>(config, checkpoint_, i, weights, team_));
    info_.weight_bytes += layers_.back()->weight_bytes();
    if (plan.progress) plan.progress((i + 1.0) / (config.num_layers + 1));
  }
  head_ = std::make_unique<OutputHead>(config, checkpoint_, weights, kernels_, team_);
  info_.weight_bytes += head_->weight_bytes();
  if (plan.progress) plan.progress(1.0);

  const int64_t rows = max_batched_tokens_, dim = config.head_dim;
  const auto packed = [&](int64_t width) { return PackedRows(kernels_, weights, rows, width); };
  const auto floats = [](int64_t count) { return std::vector<float>(count); };
  const int64_t value_sums = config.attention.affine ? rows * config.num_kv_heads * dim : 0;
  workspace_ = std::make_unique<StepWorkspace>(StepWorkspace{
      .residual = floats(rows * PaddedWidth(config.hidden_size)),
      .normed_rows = floats(team_.size() * config.hidden_size),
      .normed = packed(config.hidden_size),
      .attention = {.projections = floats(rows * layers_[0]->attention().projection_width()),
                    .output = floats(rows * config.num_heads * dim),
                    .packed_output = packed(config.num_heads * dim),
                    .log_sum_exp = floats(rows * config.num_heads),
                    .value_sum = floats(value_sums)},
      .mlp = {.projections = floats(rows * layers_[0]->mlp().workspace_width()),
              .inner = packed(config.intermediate_size)}});
}

std::span<const SliceResult> TransformerModel::Step(const StepBatch& batch) {
  for (const BlockCopy& copy : batch.copies) cache_.CopyBlock(copy.from, copy.to);
  Gather(batch);
  GatherKept();
  const int64_t hidden = info_.hidden_size, stride = PaddedWidth(hidden);
  float* residual = workspace_->residual.data();
  team_.ParallelFor(static_cast<int64_t>(batch.slices.size()), [&](int64_t i, int) {
    int64_t row = attention_batch_.slices[i].first_row;
    for (int32_t token : batch.slices[i].tokens)
      embedding_.LookUp(token, residual + stride * row++);
  });
  const DecoderParts parts = {rotary_, core_, kernels_, team_};
  workspace_->attention.observation_seconds = 0.0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const bool last = i + 1 == layers_.size();
    layers_[i]->Forward(attention_batch_, last ? kept_ : attention_batch_,
                        cache_.layer(static_cast<int64_t>(i)), parts, *workspace_);
  }
  head_->Finish(residual, wanted_, batch.slices, results_);
  for (size_t i = 0; i < results_.size(); ++i) {
    // Also where no logits were wanted: what a broken row left in the cache must not be shared.
    const AttentionSlice& slice = kept_.slices[i];
    const float* last = residual + stride * (slice.first_row + slice.rows - 1);
    if (!kernels_.all_finite(last, hidden)) results_[i].finite = false;
    if (!results_[i].finite) results_[i].sampled.clear();
  }
  return results_;
}

// Flattens the slices into rows and lists the rows whose logits are wanted.
void TransformerModel::Gather(const StepBatch& batch) {
  Reset(batch);
  for (size_t i = 0; i < batch.slices.size(); ++i) {
    const SequenceSlice& slice = batch.slices[i];
    const auto rows = static_cast<int64_t>(slice.tokens.size());
    const int64_t first = attention_batch_.rows();
    const int64_t unobserved = std::max(0, slice.observe_from - slice.start);
    const int64_t observed =
        slice.stability == nullptr ? 0 : std::max<int64_t>(0, rows - unobserved);
    attention_batch_.slices.push_back({first, rows, slice.start, slice.block_table, slice.stability,
                                       observed, attention_batch_.observed_rows()});
    for (int64_t row = 0; row < rows; ++row)
      attention_batch_.positions.push_back(slice.start + row);
    WantRows(static_cast<int64_t>(i), first, slice);
  }
  if (attention_batch_.rows() > max_batched_tokens_) {
    throw std::length_error("a step of " + std::to_string(attention_batch_.rows()) +
                            " tokens is over the " + std::to_string(max_batched_tokens_) +
                            " that the model was loaded for");
  }
}

// Of the last layer only keys and values are wanted of most of a prompt's rows. What goes on after
// the cache is written are the last rows of each slice, from the first whose logits are wanted or
// that is observed; the very last one is always looked at for being finite.
void TransformerModel::GatherKept() {
  kept_.slices.clear();
  kept_.positions.clear();
  size_t next = 0;  // of wanted_, which is in order of slices
  for (size_t i = 0; i < attention_batch_.slices.size(); ++i) {
    const AttentionSlice& slice = attention_batch_.slices[i];
    const int64_t end = slice.first_row + slice.rows;
    const size_t first_wanted = next;
    int64_t rows = std::max<int64_t>(1, slice.observed_rows);
    for (; next < wanted_.size() && wanted_[next].slice == static_cast<int64_t>(i); ++next) {
      rows = std::max(rows, end - wanted_[next].row);
    }
    AttentionSlice kept = slice;
    kept.first_row = kept_.rows();
    kept.rows = rows;
    kept.start += slice.rows - rows;
    for (size_t w = first_wanted; w < next; ++w) wanted_[w].row += kept.first_row + rows - end;
    kept_.slices.push_back(kept);
    for (int64_t row = 0; row < rows; ++row) kept_.positions.push_back(kept.start + row);
  }
}

// The rows of slice `index`, whose first row is `first`, that are to be scored or sampled from.
void TransformerModel::WantRows(int64_t index, int64_t first, const SequenceSlice& slice) {
  for (size_t t = 0; t < slice.targets.size(); ++t) {
    const auto target = static_cast<int64_t>(t);
    wanted_.push_back({.row = first + target, .slice = index, .index = target});
  }
  const int64_t drawn_from = static_cast<int64_t>(slice.tokens.size()) - slice.samples;
  for (int64_t s = 0; s < slice.samples; ++s) {
    wanted_.push_back({.row = first + drawn_from + s,
                       .slice = index,
                       .index = s,
                       .position = slice.start + drawn_from + s + 1});
  }
  results_[index].scored.resize(slice.targets.size());
  results_[index].sampled.resize(slice.samples);
}

void TransformerModel::Reset(const StepBatch& batch) {
  attention_batch_.slices.clear();
  attention_batch_.positions.clear();
  wanted_.clear();
  results_.resize(batch.slices.size());
  for (SliceResult& result : results_) {
    result.sampled.clear();
    result.scored.clear();
    result.finite = true;
  }
}

}  // namespace affine
