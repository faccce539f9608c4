#include "model/attention/attention_layer.h"

#include <chrono>
#include <string>

#include "model/layers/tensor_values.h"

namespace affine {
namespace {

AttentionShape ShapeOf(const ModelConfig& config) {
  return {config.num_heads, config.num_kv_heads, config.head_dim};
}

std::string Name(int index, const std::string& part) {
  return "model.layers." + std::to_string(index) + ".self_attn." + part;
}

EpilogueParams ReadParams(const ModelConfig& config, const Checkpoint& checkpoint, int index) {
  EpilogueParams params;
  if (config.attention.denominator == Denominator::kLearnedSink) {
    params.sinks = Floats(checkpoint.tensor(Name(index, "sinks")));
  }
  if (config.attention.affine) params.alpha_ma = Floats(checkpoint.tensor(Name(index, "alpha_ma")));
  return params;
}

}  // namespace

AttentionLayer::Columns::Columns(const ModelConfig& config) {
  const int64_t heads = config.num_heads, kv = int64_t{config.num_kv_heads} * config.head_dim;
  query = 0;
  key = query + heads * config.head_dim;
  value = key + kv;
  gate = by_head = value + kv;
  if (config.attention.gate == Gate::kElementwise) by_head += heads * config.head_dim;
  alpha = end = by_head;
  if (config.attention.affine) end += PaddedWidth(heads);
  if (config.attention.gate == Gate::kHeadwise) {
    gate = end;
    end += PaddedWidth(heads);
  }
}

AttentionLayer::AttentionLayer(const ModelConfig& config, const Checkpoint& checkpoint, int index,
                               WeightFormat format, WorkerTeam& team)
    : index_(index),
      spec_(config.attention),
      shape_(ShapeOf(config)),
      hidden_stride_(PaddedWidth(config.hidden_size)),
      columns_(config),
      input_(config.hidden_size, columns_.end, format, columns_.by_head),
      output_(shape_.num_heads * shape_.head_dim, config.hidden_size, format),
      epilogue_(config.attention, shape_, ReadParams(config, checkpoint, index)) {
  const auto fuse = [&](int64_t column, const std::string& part) {
    input_.SetWeight(column, checkpoint.tensor(Name(index, part + ".weight")), team);
    if (config.qkv_bias && part.size() == 6) {  // q_proj, k_proj, v_proj
      input_.SetBias(column, checkpoint.tensor(Name(index, part + ".bias")));
    }
  };
  fuse(columns_.query, "q_proj");
  fuse(columns_.key, "k_proj");
  fuse(columns_.value, "v_proj");
  if (spec_.affine) fuse(columns_.alpha, "alpha_proj");
  if (spec_.gate != Gate::kNone) fuse(columns_.gate, "gate_proj");
  output_.SetWeight(0, checkpoint.tensor(Name(index, "o_proj.weight")), team);
  if (config.output_bias) output_.SetBias(0, checkpoint.tensor(Name(index, "o_proj.bias")));
}

void AttentionLayer::Forward(const Call& call, const Rotary& rotary, PagedCoreCpu& core,
                             const Kernels& kernels, WorkerTeam& team,
                             AttentionWorkspace& workspace) const {
  const int64_t rows = call.batch.rows(), width = projection_width(), dim = shape_.head_dim;
  float* projections = workspace.projections.data();
  input_.Forward({call.x, rows, projections, width}, kernels, team);
  // Queries and keys lie side by side.
  const int64_t rotated = shape_.num_heads + shape_.num_kv_heads;
  team.ParallelFor(rows, [&](int64_t row, int) {
    float* heads = projections + row * width;
    for (int64_t h = 0; h < rotated; ++h) rotary.Apply(call.batch.positions[row], heads + h * dim);
  });

  const CoreInput input = {projections, projections + columns_.key, projections + columns_.value,
                           width};
  float* value_sum = spec_.affine ? workspace.value_sum.data() : nullptr;
  core.WriteCache(call.batch, input, call.cache, value_sum);
  if (&call.kept != &call.batch) {
    KeepRows(call.batch, call.kept, width, projections);
    if (value_sum != nullptr) {
      KeepRows(call.batch, call.kept, shape_.num_kv_heads * dim, value_sum);
    }
  }
  workspace.statistics.resize(call.kept.observed_rows() * shape_.num_heads);
  core.Attend(call.kept, input, call.cache,
              {workspace.output.data(), workspace.log_sum_exp.data(), value_sum,
               workspace.statistics.data()});
  const Epilogue::Call epilogue = {
      workspace.output.data(),      workspace.log_sum_exp.data(), value_sum,
      projections + columns_.alpha, projections + columns_.gate,  width};
  if (!workspace.statistics.empty()) {
    Observe({call.kept, input, call.cache, epilogue, workspace.statistics, index_}, core, team,
            workspace);
  }
  const int64_t concatenated = shape_.num_heads * dim;
  team.ParallelFor(call.kept.rows(), [&](int64_t row, int) {
    epilogue_.Apply(epilogue, kernels, row, call.kept.positions[row]);
    workspace.packed_output.Set(row, workspace.output.data() + row * concatenated, concatenated);
  });
  output_.Forward({workspace.packed_output, call.kept.rows(), call.residual, hidden_stride_, true},
                  kernels, team);
}

void AttentionLayer::Observe(const StabilityProbe::Call& call, PagedCoreCpu& core, WorkerTeam& team,
                             AttentionWorkspace& workspace) const {
  const auto before = std::chrono::steady_clock::now();
  StabilityProbe(spec_, shape_, epilogue_).Observe(call, core, team);
  const std::chrono::duration<double> second_look = std::chrono::steady_clock::now() - before;
  workspace.observation_seconds += core.TakeObservationSeconds() + second_look.count();
}

}  // namespace affine
