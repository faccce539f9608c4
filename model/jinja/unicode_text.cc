#include "model/jinja/unicode_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>

namespace affine::jinja {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

template <typename Change>
std::string Mapped(std::string_view text, Change change) {
  std::string mapped;
  mapped.reserve(text.size());
  while (!text.empty()) {
    const auto [c, length] = FirstCodePoint(text);
    change(c, mapped);
    text.remove_prefix(length);
  }
  return mapped;
}

void AppendUpper(char32_t c, std::string& out) {
  if (c == 0xdf) {  // the one letter of common text whose upper case is two
    out += "SS";
  } else {
    AppendCodePoint(static_cast<char32_t>(utf8proc_toupper(static_cast<int32_t>(c))), out);
  }
}

void AppendLower(char32_t c, std::string& out) {
  AppendCodePoint(static_cast<char32_t>(utf8proc_tolower(static_cast<int32_t>(c))), out);
}

utf8proc_category_t CategoryOf(char32_t c) { return utf8proc_category(static_cast<int32_t>(c)); }

bool IsLetter(char32_t c) {
  switch (CategoryOf(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return true;
    default:
      return false;
  }
}

bool HasCase(char32_t c) {
  const utf8proc_category_t category = CategoryOf(c);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT;
}

template <typename Holds>
bool All(std::string_view text, Holds holds) {
  if (text.empty()) return false;
  while (!text.empty()) {
    const auto [c, length] = FirstCodePoint(text);
    if (!holds(c)) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool HasOneCase(std::string_view text, utf8proc_category_t wanted) {
  bool seen = false;
  while (!text.empty()) {
    const auto [c, length] = FirstCodePoint(text);
    if (HasCase(c)) {
      if (CategoryOf(c) != wanted) return false;
      seen = true;
    }
    text.remove_prefix(length);
  }
  return seen;
}

// Whether `text` begins (ends) with a character to strip, and its length; 0 if not.
size_t Strippable(std::string_view character, std::string_view set) {
  if (set.empty()) return IsSpace(FirstCodePoint(character).first) ? character.size() : 0;
  // A whole character is found only where one begins, as both are valid UTF-8.
  return set.find(character) != std::string_view::npos ? character.size() : 0;
}

}  // namespace

int64_t CodePoints(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return !IsContinuation(c); });
}

size_t ByteOffset(std::string_view text, int64_t index) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if (!IsContinuation(text[at]) && index-- == 0) break;
  }
  return at;
}

std::vector<std::string_view> Characters(std::string_view text) {
  std::vector<std::string_view> characters;
  while (!text.empty()) {
    const size_t length = FirstCodePoint(text).second;
    characters.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return characters;
}

bool IsSpace(char32_t c) {
  if (c < 0x80) return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20);
  return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
         c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

std::string_view StripLeft(std::string_view text, std::string_view set) {
  while (!text.empty()) {
    const size_t cut = Strippable(text.substr(0, FirstCodePoint(text).second), set);
    if (cut == 0) break;
    text.remove_prefix(cut);
  }
  return text;
}

std::string_view StripRight(std::string_view text, std::string_view set) {
  while (!text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && IsContinuation(text[begin])) --begin;
    const size_t cut = Strippable(text.substr(begin), set);
    if (cut == 0) break;
    text.remove_suffix(cut);
  }
  return text;
}

std::string_view Strip(std::string_view text, std::string_view set) {
  return StripRight(StripLeft(text, set), set);
}

std::string Upper(std::string_view text) { return Mapped(text, AppendUpper); }

std::string Lower(std::string_view text) { return Mapped(text, AppendLower); }

std::string Capitalized(std::string_view text) {
  bool first = true;
  return Mapped(text, [&first](char32_t c, std::string& out) {
    if (first) {
      AppendCodePoint(static_cast<char32_t>(utf8proc_totitle(static_cast<int32_t>(c))), out);
    } else {
      AppendLower(c, out);
    }
    first = false;
  });
}

std::string Titled(std::string_view text) {
  bool inside = false;
  return Mapped(text, [&inside](char32_t c, std::string& out) {
    if (inside) {
      AppendLower(c, out);
    } else {
      AppendCodePoint(static_cast<char32_t>(utf8proc_totitle(static_cast<int32_t>(c))), out);
    }
    inside = HasCase(c);
  });
}

bool IsUpper(std::string_view text) { return HasOneCase(text, UTF8PROC_CATEGORY_LU); }
bool IsLower(std::string_view text) { return HasOneCase(text, UTF8PROC_CATEGORY_LL); }
bool AllSpace(std::string_view text) { return All(text, IsSpace); }
bool AllLetters(std::string_view text) { return All(text, IsLetter); }
bool AllDigits(std::string_view text) {
  return All(text, [](char32_t c) { return CategoryOf(c) == UTF8PROC_CATEGORY_ND; });
}
bool AllLettersOrDigits(std::string_view text) {
  return All(text, [](char32_t c) { return IsLetter(c) || CategoryOf(c) == UTF8PROC_CATEGORY_ND; });
}

bool IsPrintable(char32_t c) {
  if (c == ' ') return true;
  switch (CategoryOf(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

std::pair<char32_t, size_t> FirstCodePoint(std::string_view text) {
  int32_t c = 0;
  const auto length =
      utf8proc_iterate(reinterpret_cast<const uint8_t*>(text.data()),
                       static_cast<utf8proc_ssize_t>(std::min<size_t>(text.size(), 4)), &c);
  if (length < 1) return {0xfffd, 1};
  return {static_cast<char32_t>(c), static_cast<size_t>(length)};
}

void AppendCodePoint(char32_t c, std::string& text) {
  uint8_t bytes[4];
  const auto length = utf8proc_encode_char(static_cast<int32_t>(c), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
}

size_t FindText(std::string_view text, std::string_view needle, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (needle.empty()) return from;
  // std::string_view::find takes time in the product of both lengths; glibc's memmem does not.
  const void* found = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const auto [c, length] = FirstCodePoint(text.substr(at));
    const bool breaks =
        (c >= 10 && c <= 13) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029;
    if (breaks) lines.push_back(text.substr(begin, at - begin));
    at += length;
    if (c == '\r' && text.substr(at).starts_with('\n')) ++at;
    if (breaks) begin = at;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

}  // namespace affine::jinja
