// Philox4x32-10, a counter-based generator (Salmon et al., SC 2011): no state to keep or to lose.
#pragma once

#include <array>
#include <cstdint>

namespace affine {

/// The four words of block `counter` under `key`.
std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// A number in [0, 1) with 53 random bits, a function of (seed, position) alone.
double UniformAt(uint64_t seed, int64_t position);

}  // namespace affine
