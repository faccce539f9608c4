#include "model/layers/linear.h"

#include <ATen/ops/zeros.h>

#include <algorithm>

#include "model/layers/tensor_values.h"
#include "model/runtime/bfloat16.h"

namespace affine {
namespace {

// Rows of x that stay in the second-level cache while all panels pass by.
constexpr int64_t kRowBlock = 96;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

Linear::Linear(int64_t in_features, int64_t out_features, ElementType element)
    : in_features_(in_features),
      element_(element),
      panels_(CeilDiv(out_features, kPanelWidth)),
      panel_bytes_(in_features * kPanelWidth * ElementBytes(element)),
      packed_(at::zeros({panels_, panel_bytes_}, at::kByte)) {}

void Linear::SetWeight(int64_t first, const TensorView& weight, WorkerTeam& team) {
  const int64_t rows = weight.shape[0];
  char* packed = static_cast<char*>(packed_.mutable_data_ptr());
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

void Linear::Forward(const Call& call, const Kernels& kernels, WorkerTeam& team) const {
  // One row streams several panels at once; more rows take panels one by one.
  const int64_t group = MaxTilePanels(static_cast<int>(std::min<int64_t>(call.rows, kMaxTileRows)));
  const int64_t groups = CeilDiv(panels_, group);
  const int64_t row_blocks = CeilDiv(call.rows, kRowBlock);
  team.ParallelFor(row_blocks * groups, [&](int64_t item, int) {
    const int64_t first_row = item / groups * kRowBlock;
    const int64_t first_panel = item % groups * group;
    MultiplyRows(call, kernels, first_row, std::min(kRowBlock, call.rows - first_row), first_panel,
                 std::min(group, panels_ - first_panel));
  });
}

// Rows are cut into tiles as even as can be, so that none is left with a slow remainder.
void Linear::MultiplyRows(const Call& call, const Kernels& kernels, int64_t first_row, int64_t rows,
                          int64_t first_panel, int64_t panels) const {
  const int64_t tiles = CeilDiv(rows, kMaxTileRows);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t begin = first_row + rows * tile / tiles;
    const int64_t end = first_row + rows * (tile + 1) / tiles;
    TileArgs args;
    args.a = call.x + begin * call.x_stride;
    args.a_stride = call.x_stride;
    args.rows = static_cast<int>(end - begin);
    args.panel_stride = panel_bytes_;
    args.k = in_features_;
    args.c_stride = call.y_stride;
    args.accumulate = call.accumulate || bias_.defined();
    const int64_t most = MaxTilePanels(args.rows);
    for (int64_t p = 0; p < panels; p += most) {
      const int64_t column = (first_panel + p) * kPanelWidth;
      args.panel = static_cast<const char*>(packed_.const_data_ptr()) + (first_panel + p) * panel_bytes_;
      args.panels = static_cast<int>(std::min(most, panels - p));
      args.c = call.y + begin * call.y_stride + column;
      if (bias_.defined()) {
        const float* bias = bias_.const_data_ptr<float>() + column;
        for (int64_t r = 0; r < end - begin; ++r) {
          float* y = args.c + r * call.y_stride;
          for (int64_t i = 0; i < args.panels * kPanelWidth; ++i) {
            y[i] = call.accumulate ? y[i] + bias[i] : bias[i];
          }
        }
      }
      kernels.multiply(element_, args);
    }
  }
}

}  // namespace affine
