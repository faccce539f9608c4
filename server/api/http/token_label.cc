#include "server/api/http/token_label.h"

#include <algorithm>

#include "model/utf8.h"

namespace affine {

std::string TokenLabel(const Tokenizer& tokenizer, int32_t id) {
  const std::string_view bytes = tokenizer.TokenBytes(id);
  if (bytes.empty()) return "token_id:" + std::to_string(id);
  if (IsValidUtf8(bytes)) return std::string(bytes);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string label = "bytes:";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    label.append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
  }
  return label;
}

TextOffset::TextOffset(const Tokenizer& tokenizer, bool skip_special_tokens)
    : tokenizer_(tokenizer), skip_special_tokens_(skip_special_tokens) {}

int64_t TextOffset::Take(int32_t id) {
  const int64_t place = characters_;
  if (skip_special_tokens_ && tokenizer_.IsSpecial(id)) return place;
  unfinished_ += tokenizer_.TokenBytes(id);
  const size_t whole = unfinished_.size() - IncompleteUtf8Suffix(unfinished_);
  const std::string text = ReplaceInvalidUtf8(std::string_view(unfinished_).substr(0, whole));
  characters_ += std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // not a continuation byte
  });
  unfinished_.erase(0, whole);
  return place;
}

}  // namespace affine
