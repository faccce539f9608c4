#include "model/utf8.h"

#include <cstdint>
#include <cstring>

namespace affine {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";  // U+FFFD

/// What Unicode's table 3-7 allows after one lead byte.
struct LeadByte {
  int length;             // bytes of the whole character, 0 if the byte cannot lead
  uint8_t second_lowest;  // bounds of the second byte; all later ones are 80..BF
  uint8_t second_highest;
};

LeadByte ReadLeadByte(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};  // no surrogates
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};  // nothing above U+10FFFF
  return {0, 0, 0};
}

/// How many bytes at the start of `bytes` begin one character, and how many that character needs.
/// An impossible lead byte gives {1, 0}; a character is whole when the two numbers are equal.
struct Sequence {
  int present;
  int needed;
};

Sequence ReadSequence(std::string_view bytes) {
  const LeadByte lead = ReadLeadByte(static_cast<uint8_t>(bytes[0]));
  if (lead.length == 0) return {1, 0};
  int present = 1;
  uint8_t lowest = lead.second_lowest;
  uint8_t highest = lead.second_highest;
  while (present < lead.length && static_cast<size_t>(present) < bytes.size()) {
    const uint8_t byte = static_cast<uint8_t>(bytes[present]);
    if (byte < lowest || byte > highest) break;
    lowest = 0x80;
    highest = 0xBF;
    ++present;
  }
  return {present, lead.length};
}

/// Length of the well-formed start of `bytes`.
size_t ValidPrefix(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    if (bytes.size() - at >= 8) {  // eight ASCII bytes at once
      uint64_t word;
      std::memcpy(&word, bytes.data() + at, 8);
      if ((word & 0x8080808080808080ull) == 0) {
        at += 8;
        continue;
      }
    }
    const Sequence sequence = ReadSequence(bytes.substr(at, 4));
    if (sequence.present != sequence.needed) return at;
    at += sequence.present;
  }
  return at;
}

}  // namespace

bool IsValidUtf8(std::string_view text) { return ValidPrefix(text) == text.size(); }

std::string ReplaceInvalidUtf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const size_t valid = ValidPrefix(bytes);
    text.append(bytes.substr(0, valid));
    bytes.remove_prefix(valid);
    if (bytes.empty()) break;
    text.append(kReplacement);
    bytes.remove_prefix(ReadSequence(bytes.substr(0, 4)).present);
  }
  return text;
}

size_t IncompleteUtf8Suffix(std::string_view bytes) {
  for (size_t length = 1; length <= 3 && length <= bytes.size(); ++length) {
    const Sequence sequence = ReadSequence(bytes.substr(bytes.size() - length));
    const bool whole_suffix = sequence.present == static_cast<int>(length);
    if (whole_suffix && sequence.present < sequence.needed) return length;
  }
  return 0;
}

}  // namespace affine
