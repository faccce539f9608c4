// Hashes with a secret seed, so that nobody can write a vocabulary whose entries all collide.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

namespace affine {

class SeededHash {
 public:
  SeededHash() {
    std::random_device device;
    seed_ = (static_cast<uint64_t>(device()) << 32 | device()) | 1;
  }

  uint64_t operator()(uint64_t key) const { return Mix(key ^ seed_, 0x9E3779B97F4A7C15ull ^ key); }

  uint64_t operator()(std::string_view bytes) const {
    uint64_t state = seed_ ^ bytes.size();
    while (bytes.size() > 8) {
      state = Mix(state ^ Load(bytes.data(), 8), 0x9E3779B97F4A7C15ull ^ seed_);
      bytes.remove_prefix(8);
    }
    return Mix(state ^ Load(bytes.data(), bytes.size()), 0xD6E8FEB86659FD93ull ^ seed_);
  }

 private:
  static uint64_t Load(const char* bytes, size_t length) {
    uint64_t word = 0;
    if (length == 8) {
      std::memcpy(&word, bytes, 8);
    } else {
      for (size_t i = 0; i < length; ++i) {
        word |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << (8 * i);
      }
    }
    return word;
  }
  /// Both halves of the 128-bit product folded together.
  static uint64_t Mix(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 Wide;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }

  uint64_t seed_;
};

}  // namespace affine
