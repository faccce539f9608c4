#include "server/scheduler/siphash.h"

#include <bit>

namespace affine {
namespace {

uint64_t LittleEndian(std::span<const uint8_t> bytes) {
  uint64_t word = 0;
  for (size_t i = 0; i < bytes.size(); ++i) word |= uint64_t{bytes[i]} << (8 * i);
  return word;
}

}  // namespace

SipHasher::SipHasher(const HashKey& key)
    : v0_(key.k0 ^ 0x736f6d6570736575),
      v1_(key.k1 ^ 0x646f72616e646f6d ^ 0xee),
      v2_(key.k0 ^ 0x6c7967656e657261),
      v3_(key.k1 ^ 0x7465646279746573) {}

void SipHasher::Round() {
  v0_ += v1_;
  v2_ += v3_;
  v1_ = std::rotl(v1_, 13) ^ v0_;
  v3_ = std::rotl(v3_, 16) ^ v2_;
  v0_ = std::rotl(v0_, 32) + v3_;
  v2_ += v1_;
  v1_ = std::rotl(v1_, 17) ^ v2_;
  v3_ = std::rotl(v3_, 21) ^ v0_;
  v2_ = std::rotl(v2_, 32);
}

void SipHasher::Add(uint64_t word) {
  v3_ ^= word;
  Round();
  Round();
  v0_ ^= word;
  length_ += 8;
}

Hash128 SipHasher::Finish(std::span<const uint8_t> tail) {
  Add(LittleEndian(tail) | (length_ + tail.size()) << 56);
  Hash128 hash;
  v2_ ^= 0xee;
  for (int i = 0; i < 4; ++i) Round();
  hash.low = v0_ ^ v1_ ^ v2_ ^ v3_;
  v1_ ^= 0xdd;
  for (int i = 0; i < 4; ++i) Round();
  hash.high = v0_ ^ v1_ ^ v2_ ^ v3_;
  return hash;
}

Hash128 SipHash128(const HashKey& key, std::span<const uint8_t> message) {
  SipHasher hasher(key);
  while (message.size() >= 8) {
    hasher.Add(LittleEndian(message.first(8)));
    message = message.subspan(8);
  }
  return hasher.Finish(message);
}

}  // namespace affine
