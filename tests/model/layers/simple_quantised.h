// Quantised weights and their product, number by number, straight from the formulas.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "model/runtime/bfloat16.h"
#include "model/runtime/weight_format.h"

namespace affine {

/// W [columns, inputs] rounded to int8 or int4, as weight_format.h and pack_panel.h define it.
class SimpleQuantised {
 public:
  SimpleQuantised(WeightFormat format, const std::vector<float>& values, int64_t inputs)
      : int8_(format == WeightFormat::kInt8),
        size_(int8_ ? kInt8Group : kInt4Group),
        inputs_(inputs),
        groups_((inputs + size_ - 1) / size_) {
    for (auto row = values.begin(); row != values.end(); row += inputs) {
      for (int64_t first = 0; first < inputs; first += size_)
        Round({row + first, row + std::min(inputs, first + size_)});
    }
  }

  /// The weights that the codes stand for, [columns, inputs].
  std::vector<float> Values() const {
    std::vector<float> values;
    for (size_t i = 0; i < codes_.size(); ++i) {
      const Group& group = GroupOf(static_cast<int64_t>(i));
      values.push_back(int8_ ? group.scale * codes_[i]
                             : group.scale / 16 * codes_[i] + group.least);
    }
    return values;
  }

  /// Column `column` times x [inputs], rounded to bfloat16, onto `total`.
  float Multiply(const float* x, int64_t column, float total) const {
    const auto input = [&](int64_t i) {
      return i < inputs_ ? FromBfloat16(ToBfloat16(x[i])) : 0.0f;
    };
    const auto code = [&](int64_t i) {
      if (i >= inputs_) return 0.0f;
      const float q = codes_[column * inputs_ + i];
      return int8_ ? q : 1.0f + q / 16.0f;
    };
    for (int64_t g = 0; g < groups_; ++g) {
      const Group& group = heads_[column * groups_ + g];
      float sum = 0.0f;  // of each pair the second first
      for (int64_t i = g * size_; i < (g + 1) * size_; ++i)
        sum = std::fma(input(i ^ 1), code(i ^ 1), sum);
      total = std::fma(group.scale, sum, total);
      if (int8_) continue;
      float lanes[16];
      for (int64_t j = 0; j < 16; ++j) lanes[j] = input(32 * g + j) + input(32 * g + 16 + j);
      for (int64_t width = 8; width > 0; width /= 2)
        for (int64_t j = 0; j < width; ++j) lanes[j] += lanes[j + width];
      total = std::fma(group.least - group.scale, lanes[0], total);
    }
    return total;
  }

 private:
  struct Group {
    float scale;  // int4: the span of 16 codes
    float least = 0.0f;
  };
  const Group& GroupOf(int64_t i) const {
    return heads_[i / inputs_ * groups_ + i % inputs_ / size_];
  }

  void Round(const std::vector<float>& group) {
    Group head{};
    float step;
    if (int8_) {
      for (float w : group) head.scale = std::max(head.scale, std::abs(w));
      step = head.scale /= 127;
    } else {
      head.least = FromBfloat16(ToBfloat16(*std::min_element(group.begin(), group.end())));
      const float most = *std::max_element(group.begin(), group.end());
      head.scale = FromBfloat16(ToBfloat16((most - head.least) * (16.0f / 15.0f)));
      step = head.scale / 16;
    }
    for (float w : group) {
      const float q = step == 0 ? 0 : std::nearbyint((w - head.least) / step);
      codes_.push_back(int8_ ? std::clamp(q, -127.0f, 127.0f) : std::clamp(q, 0.0f, 15.0f));
    }
    heads_.push_back(head);
  }

  bool int8_;
  int64_t size_, inputs_, groups_;
  std::vector<float> codes_;  // [columns, inputs]
  std::vector<Group> heads_;  // [columns, groups]
};

}  // namespace affine
