#include "model/layers/rotary.h"

#include <cmath>
#include <numbers>

namespace affine {
namespace {

double Llama3Frequency(double frequency, const RopeScaling& scaling) {
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  const double original = scaling.original_max_position_embeddings;
  if (wavelength > original / scaling.low_freq_factor) return frequency / scaling.factor;
  if (wavelength < original / scaling.high_freq_factor) return frequency;
  const double kept = (original / wavelength - scaling.low_freq_factor) /
                      (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1.0 - kept) * frequency / scaling.factor + kept * frequency;
}

}  // namespace

std::vector<float> RotaryFrequencies(const ModelConfig& config) {
  std::vector<float> frequencies(config.head_dim / 2);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / config.head_dim;
    double frequency = static_cast<float>(1.0 / std::pow(config.rope_theta, exponent));
    switch (config.rope_scaling.type) {
      case RopeScaling::Type::kNone:
        break;
      case RopeScaling::Type::kLinear:
        frequency /= config.rope_scaling.factor;
        break;
      case RopeScaling::Type::kLlama3:
        frequency = Llama3Frequency(frequency, config.rope_scaling);
        break;
    }
    frequencies[i] = static_cast<float>(frequency);
  }
  return frequencies;
}

Rotary::Rotary(const ModelConfig& config, int64_t max_length) : half_(config.head_dim / 2) {
  const std::vector<float> frequencies = RotaryFrequencies(config);
  cosines_.resize(max_length * half_);
  sines_.resize(max_length * half_);
  for (int64_t position = 0; position < max_length; ++position) {
    for (int64_t i = 0; i < half_; ++i) {
      const double angle = static_cast<float>(position) * frequencies[i];  // rounded to float32
      cosines_[position * half_ + i] = static_cast<float>(std::cos(angle));
      sines_[position * half_ + i] = static_cast<float>(std::sin(angle));
    }
  }
}

void Rotary::Apply(int64_t position, float* head) const {
  const float* cosine = cosines_.data() + position * half_;
  const float* sine = sines_.data() + position * half_;
  for (int64_t i = 0; i < half_; ++i) {
    const float x = head[i], y = head[i + half_];
    head[i] = x * cosine[i] - y * sine[i];
    head[i + half_] = y * cosine[i] + x * sine[i];
  }
}

}  // namespace affine
