#include "model/jinja/printed.h"

#include <charconv>
#include <cmath>

#include "model/jinja/unicode_text.h"

namespace affine::jinja {
namespace {

void AppendHex(char32_t c, int digits, std::string& out) {
  constexpr char kHex[] = "0123456789abcdef";
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += kHex[(c >> shift) & 15];
}

void AppendEscaped(char32_t c, std::string& out) {
  if (c < 0x100) {
    AppendHex(c, 2, out += "\\x");
  } else if (c < 0x10000) {
    AppendHex(c, 4, out += "\\u");
  } else {
    AppendHex(c, 8, out += "\\U");
  }
}

std::string ReprOfText(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  while (!text.empty()) {
    const auto [c, length] = FirstCodePoint(text);
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (IsPrintable(c)) {
      out += text.substr(0, length);
    } else {
      AppendEscaped(c, out);
    }
    text.remove_prefix(length);
  }
  return out + quote;
}

std::string ReprOfList(const List& list, WorkBudget& budget) {
  if (list.shape == List::Shape::kView || list.shape == List::Shape::kGenerator) {
    throw TemplateError("a view or generator has no text of its own; apply the filter list to it");
  }
  const bool tuple = list.shape == List::Shape::kTuple;
  std::string out(1, tuple ? '(' : '[');
  for (const Value& item : list.items) {
    if (out.size() > 1) out += ", ";
    out += Repr(item, budget);
  }
  if (tuple && list.items.size() == 1) out += ',';
  return out + (tuple ? ')' : ']');
}

std::string ReprOfDict(const Dict& dict, WorkBudget& budget) {
  std::string out = "{";
  for (const auto& [key, value] : dict.items) {
    if (out.size() > 1) out += ", ";
    out += Repr(key, budget) + ": " + Repr(value, budget);
  }
  return out + "}";
}

}  // namespace

std::string PrintedNumber(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), number, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  std::string out;
  if (text.starts_with('-')) {
    out = "-";
    text.remove_prefix(1);
  }
  const size_t e = text.find('e');
  int exponent = 0;
  const char* digits_of_exponent = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(digits_of_exponent, text.data() + text.size(), exponent);
  std::string digits(text.substr(0, e));
  if (exponent < -4 || exponent >= 16) {
    const std::string size = std::to_string(std::abs(exponent));
    return out + digits + (exponent < 0 ? "e-" : "e+") + (size.size() < 2 ? "0" : "") + size;
  }
  if (digits.size() > 1) digits.erase(1, 1);  // the point
  if (exponent < 0) {
    return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  }
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string Repr(const Value& value, WorkBudget& budget) {
  budget.Steps();
  std::string out;
  if (value.IsString()) {
    out = ReprOfText(value.string());
  } else if (value.IsUndefined()) {
    out = "Undefined";
  } else if (value.IsNone()) {
    out = "None";
  } else if (const auto* flag = value.As<bool>()) {
    out = *flag ? "True" : "False";
  } else if (const auto* integer = value.As<int64_t>()) {
    out = std::to_string(*integer);
  } else if (const auto* number = value.As<double>()) {
    out = PrintedNumber(*number);
  } else if (value.IsList()) {
    out = ReprOfList(value.list(), budget);
  } else if (value.IsDict()) {
    out = ReprOfDict(value.dict(), budget);
  } else {
    throw TemplateError(std::string("a ") + TypeName(value) + " can't be printed");
  }
  budget.Bytes(out.size());
  return out;
}

std::string Printed(const Value& value, WorkBudget& budget) {
  if (value.IsUndefined()) return "";
  if (!value.IsString()) return Repr(value, budget);
  budget.Bytes(value.string().size());
  return value.string();
}

}  // namespace affine::jinja
