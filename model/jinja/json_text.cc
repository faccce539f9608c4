#include <algorithm>
#include <cmath>

#include "model/jinja/printed.h"
#include "model/jinja/unicode_text.h"

namespace affine::jinja {
namespace {

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, WorkBudget& budget) : style_(style), budget_(budget) {}

  void Write(const Value& value, int level) {
    budget_.Steps();
    const size_t before = out_.size();
    if (value.IsList()) {
      WriteList(value.list(), level);
    } else if (value.IsDict()) {
      WriteDict(value.dict(), level);
    } else {
      WriteScalar(value);
      budget_.Bytes(out_.size() - before);
    }
  }
  std::string Take() { return std::move(out_); }

 private:
  void WriteScalar(const Value& value) {
    if (value.IsString()) {
      WriteText(value.string());
    } else if (value.IsNone()) {
      out_ += "null";
    } else if (const auto* flag = value.As<bool>()) {
      out_ += *flag ? "true" : "false";
    } else if (const auto* number = value.As<double>()) {
      WriteNumber(*number);
    } else if (const auto integer = IntegerOf(value)) {
      out_ += std::to_string(*integer);
    } else {
      RequireDefined(value);
      throw TemplateError(std::string("a ") + TypeName(value) + " has no JSON");
    }
  }

  void WriteNumber(double number) {
    if (std::isnan(number)) {
      out_ += "NaN";
    } else if (std::isinf(number)) {
      out_ += number > 0 ? "Infinity" : "-Infinity";
    } else {
      out_ += PrintedNumber(number);
    }
  }

  void WriteText(std::string_view text) {
    out_ += '"';
    while (!text.empty()) {
      const auto [c, length] = FirstCodePoint(text);
      WriteCharacter(c, text.substr(0, length));
      text.remove_prefix(length);
    }
    out_ += '"';
  }

  void WriteCharacter(char32_t c, std::string_view bytes) {
    constexpr std::string_view kPlain = "\"\\\n\r\t\f\b";
    constexpr std::string_view kLetters = "\"\\nrtfb";
    const size_t named = c < 0x80 ? kPlain.find(static_cast<char>(c)) : std::string_view::npos;
    if (named != std::string_view::npos) {
      out_ += '\\';
      out_ += kLetters[named];
    } else if (c < 0x20 || (style_.ascii && c >= 0x7f && c < 0x10000)) {
      WriteUnit(c);
    } else if (style_.ascii && c >= 0x10000) {
      WriteUnit(0xd800 + ((c - 0x10000) >> 10));
      WriteUnit(0xdc00 + ((c - 0x10000) & 0x3ff));
    } else {
      out_ += bytes;
    }
  }

  void WriteUnit(char32_t unit) {
    constexpr char kHex[] = "0123456789abcdef";
    out_ += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out_ += kHex[(unit >> shift) & 15];
  }

  void NewLine(int level) {
    if (!style_.indent) return;
    const size_t width = static_cast<size_t>(std::max<int64_t>(*style_.indent, 0));
    budget_.Bytes(width * static_cast<size_t>(level) + 1);
    out_ += '\n';
    out_.append(width * static_cast<size_t>(level), ' ');
  }

  void WriteList(const List& list, int level) {
    if (list.shape == List::Shape::kView || list.shape == List::Shape::kGenerator) {
      throw TemplateError("a view or generator has no JSON; apply the filter list to it");
    }
    if (list.items.empty()) return void(out_ += "[]");
    out_ += '[';
    for (size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      NewLine(level + 1);
      Write(list.items[i], level + 1);
    }
    NewLine(level);
    out_ += ']';
  }

  void WriteDict(const Dict& dict, int level) {
    if (dict.items.empty()) return void(out_ += "{}");
    std::vector<const std::pair<Value, Value>*> items;
    for (const auto& item : dict.items) items.push_back(&item);
    if (style_.sort_keys) {
      std::stable_sort(items.begin(), items.end(), [this](const auto* a, const auto* b) {
        return Less(a->first, b->first, budget_);
      });
    }
    out_ += '{';
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      NewLine(level + 1);
      WriteKey(items[i]->first);
      out_ += style_.key_separator;
      Write(items[i]->second, level + 1);
    }
    NewLine(level);
    out_ += '}';
  }

  void WriteKey(const Value& key) {
    if (key.IsString()) return WriteText(key.string());
    out_ += '"';
    WriteScalar(key);
    out_ += '"';
  }

  const JsonStyle& style_;
  WorkBudget& budget_;
  std::string out_;
};

}  // namespace

std::string Json(const Value& value, const JsonStyle& style, WorkBudget& budget) {
  JsonWriter writer(style, budget);
  writer.Write(value, 0);
  return writer.Take();
}

}  // namespace affine::jinja
