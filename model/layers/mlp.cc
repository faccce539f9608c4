#include "model/layers/mlp.h"

#include <string>

namespace affine {
Mlp::Mlp(const ModelConfig& config, const Checkpoint& checkpoint, int index, WeightFormat format,
         WorkerTeam& team)
    : intermediate_(config.intermediate_size),
      up_column_(PaddedWidth(intermediate_)),
      input_(config.hidden_size, 2 * up_column_, format),
      output_(intermediate_, config.hidden_size, format) {
  const auto set = [&](Linear& linear, int64_t column, const std::string& part) {
    const std::string name = "model.layers." + std::to_string(index) + ".mlp." + part;
    linear.SetWeight(column, checkpoint.tensor(name + ".weight"), team);
    if (config.mlp_bias) linear.SetBias(column, checkpoint.tensor(name + ".bias"));
  };
  set(input_, 0, "gate_proj");
  set(input_, up_column_, "up_proj");
  set(output_, 0, "down_proj");
}

void Mlp::Forward(const PackedRows& x, int64_t rows, float* residual, const Kernels& kernels,
                  WorkerTeam& team, Workspace& workspace) const {
  const int64_t width = workspace_width(), hidden = output_.padded_out_features();
  float* projections = workspace.projections.data();
  input_.Forward({x, rows, projections, width}, kernels, team);
  team.ParallelFor(rows, [&](int64_t row, int) {
    float* gate = projections + row * width;
    kernels.silu_multiply(gate, gate + up_column_, intermediate_, gate);
    workspace.inner.Set(row, gate, intermediate_);
  });
  output_.Forward({workspace.inner, rows, residual, hidden, true}, kernels, team);
}

}  // namespace affine
