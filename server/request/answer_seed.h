// The seeds of several answers to one prompt.
#pragma once

#include <cstdint>

namespace affine {

/// Answer 0 draws as a request of one answer with `seed` would. The others' seeds are SplitMix64's
/// outputs from `seed` on: all different, and without relation to those of neighbouring seeds.
constexpr uint64_t SeedOfAnswer(uint64_t seed, int32_t answer) {
  if (answer == 0) return seed;
  uint64_t x = seed + static_cast<uint64_t>(answer) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace affine
