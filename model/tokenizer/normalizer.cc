#include "model/tokenizer/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "model/quoted.h"
#include "model/tokenizer/code_point.h"

namespace affine {
namespace {

constexpr uint32_t kFirstActive = 0x300;  // the first combining mark
constexpr uint8_t kFirstActiveLead = 0xCC;

/// The full canonical decomposition of one code point, without reordering; returns its length.
size_t Decompose(uint32_t code_point, std::array<int32_t, 32>* parts) {
  int last_class = 0;
  const utf8proc_ssize_t length = utf8proc_decompose_char(
      static_cast<utf8proc_int32_t>(code_point), parts->data(),
      static_cast<utf8proc_ssize_t>(parts->size()),
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE), &last_class);
  return length < 0 ? 0 : static_cast<size_t>(length);
}

int CombiningClass(int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

size_t Compose(int32_t* parts, size_t length) {
  return static_cast<size_t>(
      utf8proc_normalize_utf32(parts, static_cast<utf8proc_ssize_t>(length),
                               static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE)));
}

}  // namespace

Normalizer::Normalizer(const ConfigNode& config) {
  if (config.IsNull()) return;
  const std::string& type = config.Member("type").String();
  if (type == "NFC") {
    compose_ = true;
  } else if (type == "Sequence") {
    for (const ConfigNode& element : config.Member("normalizers").Elements()) {
      const std::string& member = element.Member("type").String();
      if (member != "NFC") {
        element.Refuse("normalizer " + Quoted(member) + " is not supported, only NFC is");
      }
      compose_ = true;
    }
  } else {
    config.Refuse("normalizer " + Quoted(type) +
                  " is not supported; supported are null, NFC and a Sequence of NFC");
  }
  if (compose_) BuildTable();
}

void Normalizer::BuildTable() {
  active_.assign(kTableEnd / 64, 0);
  const auto mark = [this](uint32_t c) { active_[c >> 6] |= uint64_t{1} << (c & 63); };
  for (uint32_t c = kFirstActive; c < kTableEnd; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;  // surrogates
    if (CombiningClass(static_cast<int32_t>(c)) != 0) mark(c);
  }
  for (uint32_t c = 0xC0; c < kTableEnd; ++c) {
    if (c >= 0xAC00 && c < 0xE000) continue;  // Hangul syllables and surrogates
    std::array<int32_t, 32> parts;
    const size_t length = Decompose(c, &parts);
    if (length == 0 || (length == 1 && parts[0] == static_cast<int32_t>(c))) continue;
    for (size_t i = 1; i < length; ++i) mark(static_cast<uint32_t>(parts[i]));
    if (Compose(parts.data(), length) != 1 || parts[0] != static_cast<int32_t>(c)) mark(c);
  }
  for (uint32_t c = 0x1161; c <= 0x1175; ++c) mark(c);  // Hangul vowels
  for (uint32_t c = 0x11A8; c <= 0x11C2; ++c) mark(c);  // Hangul final consonants
}

size_t Normalizer::FindActive(std::string_view text, size_t from) const {
  while (from < text.size()) {
    if (static_cast<uint8_t>(text[from]) < kFirstActiveLead) {  // ASCII, continuation or too low
      ++from;
      continue;
    }
    const CodePoint c = ReadCodePoint(text, from);
    if (IsActive(c.value)) return from;
    from += c.length;
  }
  return text.size();
}

void Normalizer::AppendComposed(std::string_view text, std::vector<int32_t>* scratch,
                                std::string* out) const {
  scratch->clear();
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = ReadCodePoint(text, at);
    std::array<int32_t, 32> parts;
    const size_t length = Decompose(c.value, &parts);
    scratch->insert(scratch->end(), parts.begin(), parts.begin() + static_cast<ptrdiff_t>(length));
    at += c.length;
  }
  for (auto begin = scratch->begin(); begin != scratch->end();) {  // canonical order
    const auto is_starter = [](int32_t c) { return CombiningClass(c) == 0; };
    const auto run = std::find_if_not(begin, scratch->end(), is_starter);
    begin = std::find_if(run, scratch->end(), is_starter);
    std::stable_sort(run, begin,
                     [](int32_t a, int32_t b) { return CombiningClass(a) < CombiningClass(b); });
  }
  scratch->resize(Compose(scratch->data(), scratch->size()));
  for (const int32_t c : *scratch) AppendUtf8(static_cast<uint32_t>(c), out);
}

std::string_view Normalizer::Apply(std::string_view text, std::string* buffer) const {
  if (!compose_) return text;
  size_t active = FindActive(text, 0);
  if (active == text.size()) return text;
  buffer->clear();
  buffer->reserve(text.size() + text.size() / 8);
  std::vector<int32_t> scratch;
  size_t copied = 0;
  while (active < text.size()) {
    // What is active, with the code point before it, ends where the next inactive one starts.
    const size_t begin =
        active == copied ? active : active - ReadCodePointBefore(text, active).length;
    size_t end = active;
    while (end < text.size()) {
      const CodePoint c = ReadCodePoint(text, end);
      if (!IsActive(c.value)) break;
      end += c.length;
    }
    buffer->append(text.substr(copied, begin - copied));
    AppendComposed(text.substr(begin, end - begin), &scratch, buffer);
    copied = end;
    active = FindActive(text, end);
  }
  buffer->append(text.substr(copied));
  return *buffer;
}

}  // namespace affine
