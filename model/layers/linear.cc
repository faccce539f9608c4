#include "model/layers/linear.h"

#include <ATen/ops/zeros.h>

#include <algorithm>

#include "model/layers/pack_panel.h"
#include "model/layers/tensor_values.h"

namespace affine {
namespace {

// Rows of x that stay in the second-level cache while all panels pass by.
constexpr int64_t kRowBlock = 96;
// Panels of one piece of work: enough that taking it costs nothing, few enough that threads end
// together.
constexpr int64_t kPanelBlock = 8;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

Linear::Linear(int64_t in_features, int64_t out_features, WeightFormat format, int64_t plain_from)
    : in_features_(in_features),
      format_(format),
      panels_(CeilDiv(out_features, kPanelWidth)),
      format_panels_(HasCodes(format) ? CeilDiv(plain_from, kPanelWidth) : panels_),
      packed_(PanelOffset(panels_)) {}

int64_t Linear::PanelOffset(int64_t panel) const {
  const int64_t before = std::min(panel, format_panels_);
  return before * PanelBytes(format_, in_features_) +
         (panel - before) * PanelBytes(WeightFormat::kBfloat16, in_features_);
}

void Linear::SetWeight(int64_t first, const TensorView& weight, WorkerTeam& team) {
  const int64_t rows = weight.shape[0];
  char* packed = packed_.data();
  team.ParallelFor(CeilDiv(rows, kPanelWidth), [&](int64_t item, int) {
    const int64_t panel = first / kPanelWidth + item, row = item * kPanelWidth;
    PackPanel(FormatOf(panel), weight, row, std::min(kPanelWidth, rows - row),
              packed + PanelOffset(panel));
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
  const int64_t before = std::clamp<int64_t>(format_panels_ - part.first_panel, 0, part.panels);
  Part same_format = part;
  same_format.panels = before;
  if (before > 0) MultiplyPanels(call, kernels, same_format);
  same_format.first_panel += before;
  same_format.panels = part.panels - before;
  if (before < part.panels) MultiplyPanels(call, kernels, same_format);
}

void Linear::MultiplyPanels(const Call& call, const Kernels& kernels, const Part& part) const {
  const char* panels[kPanelBlock];
  for (int64_t p = 0; p < part.panels; ++p)
    panels[p] = packed_.data() + PanelOffset(part.first_panel + p);
  const WeightFormat format = FormatOf(part.first_panel);
  MultiplyArgs args;
  args.a = call.x.row(part.first_row);
  args.a_stride = call.x.stride();
  args.rows = part.rows;
  args.panels = panels;
  args.num_panels = part.panels;
  args.k = PaddedDepth(format, in_features_);
  args.c = call.y + part.first_row * call.y_stride + part.first_panel * kPanelWidth;
  args.c_stride = call.y_stride;
  args.accumulate = call.accumulate || bias_.defined();
  switch (format) {
    case WeightFormat::kFloat32:
      return kernels.multiply_f32(args);
    case WeightFormat::kBfloat16:
      return kernels.multiply_packed_bf16(args);
    case WeightFormat::kInt8:
      return kernels.multiply_int8({args, nullptr});
    case WeightFormat::kInt4:
      return kernels.multiply_int4({args, call.x.group_sums(part.first_row)});
  }
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
