#include <algorithm>
#include <iterator>
#include <string>

#include "model/jinja/filter_call.h"
#include "model/jinja/printed.h"
#include "model/jinja/text_methods.h"
#include "model/jinja/unicode_text.h"

namespace affine::jinja {
namespace {

// Of a filter that, as Python's soft_str, takes anything that can be printed.
std::string TextOf(const FilterCall& call) { return Printed(call.subject, call.budget); }

Value Trim(const FilterCall& call) {
  call.Bind({"chars"});
  return CallTextMethod(TextOf(call), "strip", call.arguments, call.budget);
}

Value Case(const FilterCall& call) {
  call.Bind({});
  return CallTextMethod(TextOf(call), call.name, call.arguments, call.budget);
}

// Unlike str.title, only white space, hyphens and opening brackets begin a word.
Value Title(const FilterCall& call) {
  call.Bind({});
  const std::string text = TextOf(call);
  std::string out;
  size_t word = 0;
  const auto flush = [&](size_t end) {
    out += Capitalized(std::string_view(text).substr(word, end - word));
  };
  for (size_t at = 0; at < text.size();) {
    const auto [c, length] = FirstCodePoint(std::string_view(text).substr(at));
    const bool cuts = IsSpace(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
    if (cuts) {
      flush(at);
      out.append(text, at, length);
      word = at + length;
    }
    at += length;
  }
  flush(text.size());
  return MakeText(std::move(out), call.budget);
}

Value Replace(const FilterCall& call) {
  const Parameters given = call.Bind({"old", "new", "count"}, 2);
  return Replaced(TextOf(call), Printed(*given.Given(0), call.budget),
                  Printed(*given.Given(1), call.budget), given.Integer(2, -1), call.budget);
}

Value Indent(const FilterCall& call) {
  const Parameters given = call.Bind({"width", "first", "blank"});
  const Value* width = given.Given(0);
  std::string indention;
  if (width != nullptr && width->IsString()) {
    indention = width->string();
  } else {
    const auto spaces = static_cast<size_t>(std::max<int64_t>(given.Integer(0, 4), 0));
    call.budget.Bytes(spaces);
    indention.assign(spaces, ' ');
  }
  const bool blank = given.Flag(2, false);
  const std::string text = TextOf(call) + "\n";
  const std::vector<std::string_view> lines = Lines(text);
  std::string out = given.Flag(1, false) ? indention : "";
  for (size_t i = 0; i < lines.size(); ++i) {
    call.budget.Bytes(indention.size() + lines[i].size());
    call.budget.Steps();
    if (i > 0) out += '\n';
    if (i > 0 && (blank || !lines[i].empty())) out += indention;
    out += lines[i];
  }
  return Value(std::move(out));
}

Value String(const FilterCall& call) {
  call.Bind({});
  return call.subject.IsString() ? call.subject : Value(TextOf(call));
}

Value Safe(const FilterCall& call) { return String(call); }

Value ToJson(const FilterCall& call) {
  const Parameters given = call.Bind({"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii = given.Flag(0, false);
  style.sort_keys = given.Flag(3, false);
  const Value* indent = given.Given(1);
  if (indent != nullptr && !indent->IsNone()) {
    style.indent = std::min<int64_t>(given.Integer(1, 0), 64);
    style.item_separator = std::string(",");
  }
  const Value* separators = given.Given(2);
  if (separators != nullptr && !separators->IsNone()) {
    const ListPtr pair = Iterate(*separators, call.budget);
    if (pair->items.size() != 2 || !pair->items[0].IsString() || !pair->items[1].IsString()) {
      throw TemplateError("tojson needs two strings as separators");
    }
    style.item_separator = pair->items[0].string();
    style.key_separator = pair->items[1].string();
  }
  return Value(Json(call.subject, style, call.budget));
}

struct Named {
  std::string_view name;
  FilterFunction function;
};

constexpr Named kFilters[] = {{"trim", Trim},       {"upper", Case},    {"lower", Case},
                              {"capitalize", Case}, {"title", Title},   {"replace", Replace},
                              {"indent", Indent},   {"string", String}, {"safe", Safe},
                              {"tojson", ToJson}};

}  // namespace

FilterFunction FindTextFilter(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                   [name](const Named& filter) { return filter.name == name; });
  return found == std::end(kFilters) ? nullptr : found->function;
}

}  // namespace affine::jinja
