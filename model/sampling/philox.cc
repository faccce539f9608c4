#include "model/sampling/philox.h"

namespace affine {
namespace {

constexpr uint32_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
constexpr uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
constexpr int kRounds = 10;

uint32_t Low(uint64_t x) { return static_cast<uint32_t>(x); }
uint32_t High(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

}  // namespace

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t a = uint64_t{kMultiplier0} * c[0], b = uint64_t{kMultiplier1} * c[2];
    c = {High(b) ^ c[1] ^ key[0], Low(b), High(a) ^ c[3] ^ key[1], Low(a)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return c;
}

double UniformAt(uint64_t seed, int64_t position) {
  const auto p = static_cast<uint64_t>(position);
  const auto words = Philox4x32({Low(p), High(p), 0, 0}, {Low(seed), High(seed)});
  const uint64_t bits = (uint64_t{words[0]} << 32) | words[1];
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

}  // namespace affine
