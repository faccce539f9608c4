// Code points of text that is known to be valid UTF-8, and the classes of them that added tokens
// and digit splitting ask for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace affine {

struct CodePoint {
  uint32_t value;
  uint32_t length;  // bytes
};

/// The code point that starts at `text[at]`. `text` is valid UTF-8 and `at` is a boundary within
/// it.
inline CodePoint ReadCodePoint(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<uint8_t>(text[at + i]));
  };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (lead < 0xF0) return {(lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F),
          4};
}

/// The code point that ends just before `text[end]`, `end` > 0.
inline CodePoint ReadCodePointBefore(std::string_view text, size_t end) {
  size_t at = end - 1;
  while ((static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) --at;
  return ReadCodePoint(text, at);
}

/// Unicode's White_Space property.
bool IsWhiteSpace(uint32_t code_point);

/// General category N: decimal digits, letter numbers, fractions, circled numbers and so on.
bool IsNumeric(uint32_t code_point);

void AppendUtf8(uint32_t code_point, std::string* text);

}  // namespace affine
