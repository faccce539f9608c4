#include "model/jinja/string_literal.h"

#include <charconv>
#include <cstdint>

#include "model/jinja/template_error.h"
#include "model/jinja/unicode_text.h"

namespace affine::jinja {
namespace {

// The escape that `text` begins with, behind its backslash: appends what it stands for and returns
// its length; 0 if it is none, and the backslash stands for itself.
size_t ReadEscape(std::string_view text, std::string& value, int line) {
  constexpr std::string_view kNames = "\\'\"abfnrtv";
  constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
  const char c = text[0];
  if (c == '\n') return 1;
  if (const size_t named = kNames.find(c); named != std::string_view::npos) {
    value += kMeanings[named];
    return 1;
  }
  size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  size_t begin = 1;
  int base = 16;
  if (c >= '0' && c <= '7') {
    base = 8;
    begin = 0;
    while (digits < 3 && digits < text.size() && text[digits] >= '0' && text[digits] <= '7') {
      ++digits;
    }
  }
  if (digits == 0) return 0;
  uint32_t code = 0;
  const std::string_view number = text.substr(begin, digits);
  const char* end = number.data() + number.size();
  const auto read = std::from_chars(number.data(), end, code, base);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (number.size() < digits || read.ptr != end || code > 0x10ffff || surrogate) {
    throw TemplateError("a string has a wrong escape: \\" + std::string(text.substr(0, 1)), line);
  }
  AppendCodePoint(code, value);
  return begin + digits;
}

}  // namespace

StringLiteral ReadStringLiteral(std::string_view text, int line) {
  StringLiteral literal{"", 1};
  size_t& at = literal.length;
  while (at < text.size() && text[at] != text[0]) {
    if (text[at] == '\\' && at + 1 < text.size()) {
      const size_t length = ReadEscape(text.substr(at + 1), literal.value, line);
      if (length == 0) literal.value += '\\';
      at += 1 + length;
    } else {
      literal.value += text[at++];
    }
  }
  if (at == text.size()) throw TemplateError("a string has no end", line);
  ++at;
  return literal;
}

}  // namespace affine::jinja
