// The 256 printable characters that byte-level vocabularies write instead of bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace affine {

/// Maps each byte to one character: printable Latin-1 stands for itself, the other 68 bytes take
/// U+0100 and up in order (so a space is U+0120). Source: GPT-2's encoder.
class ByteAlphabet {
 public:
  ByteAlphabet();

  /// Sets `bytes` to what `token` spells and returns true, or returns false if one of its
  /// characters is outside the alphabet. `token` is valid UTF-8.
  bool ToBytes(std::string_view token, std::string* bytes) const;

  /// The alphabet's character for `byte`.
  uint32_t Character(uint8_t byte) const { return characters_[byte]; }

 private:
  static constexpr uint32_t kEnd = 256 + 68;
  std::array<uint32_t, 256> characters_;
  std::array<int16_t, kEnd> bytes_;  // by character, -1 where it is none of the alphabet's
};

}  // namespace affine
