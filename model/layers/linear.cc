#include "model/layers/linear.h"

#include <ATen/ops/zeros.h>

#include <algorithm>

#include "model/layers/tensor_values.h"
#include "model/runtime/bfloat16.h"

namespace affine {
namespace {

// Rows of x that stay in the second-level cache while all panels pass by.
constexpr int64_t kRowBlock = 96;
// Panels of one piece of work: enough that taking it costs nothing, few enough that threads end
// together.
constexpr int64_t kPanelBlock = 8;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

Linear::Linear(int64_t in_features, int64_t out_features, ElementType element)
    : in_features_(in_features),
      element_(element),
      panels_(CeilDiv(out_features, kPanelWidth)),
      depth_(element == ElementType::kBfloat16 ? in_features + in_features % 2 : in_features),
      panel_bytes_(depth_ * kPanelWidth * ElementBytes(element)),
      packed_(panels_ * panel_bytes_) {}

void Linear::SetWeight(int64_t first, const TensorView& weight, WorkerTeam& team) {
  const int64_t rows = weight.shape[0];
  char* packed = packed_.data();
  team.ParallelFor(CeilDiv(rows, kPanelWidth), [&](int64_t item, int) {
    char* panel = packed + (first / kPanelWidth + item) * panel_bytes_;
    const int64_t end = std::min(rows, (item + 1) * kPanelWidth);
    for (int64_t row = item * kPanelWidth; row < end; ++row) {
      const int64_t column = row - item * kPanelWidth;
      const int64_t from = row * in_features_;
      if (element_ == ElementType::kFloat32) {
        float* to = reinterpret_cast<float*>(panel) + column;
        for (int64_t i = 0; i < in_features_; ++i) to[i * kPanelWidth] = FloatAt(weight, from + i);
        continue;
      }
      uint16_t* to = reinterpret_cast<uint16_t*>(panel) + 2 * column;
      for (int64_t i = 0; i < in_features_; ++i) {
        to[(i / 2) * 2 * kPanelWidth + i % 2] = Bfloat16At(weight, from + i);
      }
    }
  });
}

void Linear::SetBias(int64_t first, const TensorView& bias) {
  if (!bias_.defined()) bias_ = at::zeros({padded_out_features()}, at::kFloat);
  float* to = bias_.mutable_data_ptr<float>() + first;
  for (int64_t i = 0; i < bias.shape[0]; ++i) to[i] = FloatAt(bias, i);
}

/// A block of rows by a block of panels: one piece of a thread's work.
struct Linear::Part {
  int64_t first_row, rows, first_panel, panels;
};

void Linear::Forward(const Call& call, const Kernels& kernels, WorkerTeam& team) const {
  const int64_t row_blocks = CeilDiv(call.rows, kRowBlock);
  const int64_t panel_blocks =
      std::min(panels_, CeilDiv(CeilDiv(panels_, kPanelBlock), team.size()) * team.size());
  team.ParallelFor(row_blocks * panel_blocks, [&](int64_t item, int) {
    const int64_t row = item / panel_blocks * kRowBlock, block = item % panel_blocks;
    const int64_t panel = panels_ * block / panel_blocks;
    MultiplyPart(call, kernels,
                 {row, std::min(kRowBlock, call.rows - row), panel,
                  panels_ * (block + 1) / panel_blocks - panel});
  });
}

void Linear::MultiplyPart(const Call& call, const Kernels& kernels, const Part& part) const {
  if (bias_.defined()) PrepareBias(call, part);
  const char* panels[kPanelBlock];
  for (int64_t p = 0; p < part.panels; ++p) {
    panels[p] = packed_.data() + (part.first_panel + p) * panel_bytes_;
  }
  MultiplyArgs args;
  args.a = call.x.row(part.first_row);
  args.a_stride = call.x.stride();
  args.rows = part.rows;
  args.panels = panels;
  args.num_panels = part.panels;
  args.k = depth_;
  args.c = call.y + part.first_row * call.y_stride + part.first_panel * kPanelWidth;
  args.c_stride = call.y_stride;
  args.accumulate = call.accumulate || bias_.defined();
  kernels.multiply(element_, args);
}

// Sums start from the bias, or from y plus the bias.
void Linear::PrepareBias(const Call& call, const Part& part) const {
  const int64_t first = part.first_panel * kPanelWidth, columns = part.panels * kPanelWidth;
  const float* bias = bias_.const_data_ptr<float>() + first;
  for (int64_t r = part.first_row; r < part.first_row + part.rows; ++r) {
    float* y = call.y + r * call.y_stride + first;
    for (int64_t i = 0; i < columns; ++i) y[i] = call.accumulate ? y[i] + bias[i] : bias[i];
  }
}

}  // namespace affine
