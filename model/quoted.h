// A stranger's text, made fit for a message.
#pragma once

#include <string>
#include <string_view>

namespace affine {

/// `text` in double quotes; control characters, bytes outside ASCII and quotes are written as \xNN;
/// cut after 120 bytes.
inline std::string Quoted(std::string_view text) {
  constexpr size_t kLongest = 120;
  constexpr char kHex[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '"') {
      quoted += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      quoted += c;
    }
  }
  return quoted + (text.size() > kLongest ? "...\"" : "\"");
}

}  // namespace affine
