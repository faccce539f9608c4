// SipHash-2-4 with 128 bits of output: a keyed hash that nobody without the key can aim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace affine {

/// 16 bytes, as two little-endian words.
struct HashKey {
  uint64_t k0 = 0;
  uint64_t k1 = 0;
};

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const Hash128&) const = default;
};

/// Source: J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF", 2012, and the
/// 128-bit variant of its authors' reference code. Not thread-safe; one object hashes one message.
class SipHasher {
 public:
  explicit SipHasher(const HashKey& key);
  /// The next eight bytes of the message, little-endian.
  void Add(uint64_t word);
  /// The message's last bytes, fewer than eight.
  Hash128 Finish(std::span<const uint8_t> tail = {});

 private:
  void Round();

  uint64_t v0_, v1_, v2_, v3_;
  uint64_t length_ = 0;  // bytes added so far
};

/// The hash of one whole message.
Hash128 SipHash128(const HashKey& key, std::span<const uint8_t> message);

}  // namespace affine
