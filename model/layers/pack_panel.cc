#include "model/layers/pack_panel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "model/layers/tensor_values.h"

namespace affine {
namespace {

void PackFloats(const TensorView& weight, int64_t from, int64_t inputs, int64_t column,
                char* panel) {
  float* to = reinterpret_cast<float*>(panel) + column;
  for (int64_t i = 0; i < inputs; ++i) to[i * kPanelWidth] = FloatAt(weight, from + i);
}

void PackBfloat16(const TensorView& weight, int64_t from, int64_t inputs, int64_t column,
                  char* panel) {
  uint16_t* to = reinterpret_cast<uint16_t*>(panel) + 2 * column;
  for (int64_t i = 0; i < inputs; ++i)
    to[(i / 2) * 2 * kPanelWidth + i % 2] = Bfloat16At(weight, from + i);
}

bool AllFinite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

/// The code for `x`, `step` being the distance of codes; 0 where all codes mean the same.
int Code(float x, float step, int least, int largest) {
  if (step == 0.0f) return 0;
  return static_cast<int>(
      std::clamp(std::nearbyint(x / step), static_cast<float>(least), static_cast<float>(largest)));
}

void PackInt8Group(std::span<const float> values, int64_t column, char* group) {
  float scale = std::numeric_limits<float>::quiet_NaN();
  if (AllFinite(values)) {
    float largest = 0.0f;
    for (float x : values) largest = std::max(largest, std::abs(x));
    scale = largest / 127.0f;
    auto* codes = reinterpret_cast<int8_t*>(group + kGroupHeadBytes) + column;
    for (size_t i = 0; i < values.size(); ++i)
      codes[i * kPanelWidth] = static_cast<int8_t>(Code(values[i], scale, -127, 127));
  }
  std::memcpy(group + column * sizeof(scale), &scale, sizeof(scale));
}

void PackInt4Group(std::span<const float> values, int64_t column, char* group) {
  uint16_t head[2];  // span, least
  if (!AllFinite(values)) {
    head[0] = head[1] = ToBfloat16(std::numeric_limits<float>::quiet_NaN());
  } else {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    head[1] = ToBfloat16(*low);
    const float least = FromBfloat16(head[1]);
    head[0] = ToBfloat16((*high - least) * (16.0f / 15.0f));
    const float step = FromBfloat16(head[0]) / 16.0f;
    char* codes = group + kGroupHeadBytes + column * sizeof(uint32_t);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto code = static_cast<uint32_t>(Code(values[i] - least, step, 0, 15));
      char* at = codes + i / 8 * kPanelWidth * sizeof(uint32_t);
      uint32_t eight;
      std::memcpy(&eight, at, sizeof(eight));
      eight |= code << (16 * (i % 2) + 4 * (i % 8 / 2));
      std::memcpy(at, &eight, sizeof(eight));
    }
  }
  std::memcpy(group + column * sizeof(head), head, sizeof(head));
}

void PackCodes(WeightFormat format, const TensorView& weight, int64_t from, int64_t inputs,
               int64_t column, char* panel) {
  const bool bytes = format == WeightFormat::kInt8;
  const int64_t most = bytes ? kInt8Group : kInt4Group;
  const int64_t group_bytes = PanelBytes(format, most);
  float values[std::max(kInt8Group, kInt4Group)];
  for (int64_t first = 0; first < inputs; first += most, panel += group_bytes) {
    const int64_t count = std::min(most, inputs - first);
    for (int64_t i = 0; i < count; ++i) values[i] = FloatAt(weight, from + first + i);
    const std::span<const float> group(values, count);
    bytes ? PackInt8Group(group, column, panel) : PackInt4Group(group, column, panel);
  }
}

}  // namespace

void PackPanel(WeightFormat format, const TensorView& weight, int64_t first, int64_t rows,
               char* panel) {
  const int64_t inputs = weight.shape[1];
  for (int64_t column = 0; column < rows; ++column) {
    const int64_t from = (first + column) * inputs;
    switch (format) {
      case WeightFormat::kFloat32:
        PackFloats(weight, from, inputs, column, panel);
        break;
      case WeightFormat::kBfloat16:
        PackBfloat16(weight, from, inputs, column, panel);
        break;
      case WeightFormat::kInt8:
      case WeightFormat::kInt4:
        PackCodes(format, weight, from, inputs, column, panel);
        break;
    }
  }
}

}  // namespace affine
