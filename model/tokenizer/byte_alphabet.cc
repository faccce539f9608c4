#include "model/tokenizer/byte_alphabet.h"

#include "model/tokenizer/code_point.h"

namespace affine {

ByteAlphabet::ByteAlphabet() {
  bytes_.fill(-1);
  uint32_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    characters_[byte] = printable ? byte : next++;
    bytes_[characters_[byte]] = static_cast<int16_t>(byte);
  }
}

bool ByteAlphabet::ToBytes(std::string_view token, std::string* bytes) const {
  bytes->clear();
  for (size_t at = 0; at < token.size();) {
    const CodePoint c = ReadCodePoint(token, at);
    if (c.value >= kEnd || bytes_[c.value] < 0) return false;
    bytes->push_back(static_cast<char>(bytes_[c.value]));
    at += c.length;
  }
  return true;
}

}  // namespace affine
