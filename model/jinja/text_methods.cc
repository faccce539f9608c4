#include "model/jinja/text_methods.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>

#include "model/jinja/printed.h"
#include "model/jinja/unicode_text.h"

namespace affine::jinja {
namespace {

constexpr size_t kNone = std::string_view::npos;

struct Call {
  std::string_view text;
  std::string_view name;
  const Arguments& arguments;
  WorkBudget& budget;
};

Value TextList(const std::vector<std::string_view>& pieces, WorkBudget& budget) {
  budget.Steps(static_cast<int64_t>(pieces.size()));
  size_t bytes = 0;
  for (const std::string_view piece : pieces) bytes += piece.size();
  budget.Bytes(bytes + pieces.size() * sizeof(Value));
  std::vector<Value> items;
  for (const std::string_view piece : pieces) items.emplace_back(piece);
  return MakeList(std::move(items), budget);
}

// ---- strip and its kin

Value CallStrip(const Call& call) {
  const Parameters given(call.name, call.arguments, {"chars"});
  const std::string_view set = given.Text(0);
  const bool chosen = given.Given(0) != nullptr && !given.Given(0)->IsNone();
  if (chosen && set.empty()) return Value(call.text);  // strips nothing
  // A character of the text is looked for in all of the set.
  call.budget.Steps(static_cast<int64_t>(set.size() / 8 * call.text.size() / 8));
  if (call.name == "lstrip") return MakeText(std::string(StripLeft(call.text, set)), call.budget);
  if (call.name == "rstrip") return MakeText(std::string(StripRight(call.text, set)), call.budget);
  return MakeText(std::string(Strip(call.text, set)), call.budget);
}

Value CallRemove(const Call& call) {
  const Parameters given(call.name, call.arguments, {"affix"}, 1);
  const std::string_view affix = given.Text(0);
  std::string_view text = call.text;
  if (call.name == "removeprefix") {
    if (text.starts_with(affix)) text.remove_prefix(affix.size());
  } else if (text.ends_with(affix)) {
    text.remove_suffix(affix.size());
  }
  return MakeText(std::string(text), call.budget);
}

// ---- case

Value CallCase(const Call& call) {
  const Parameters none(call.name, call.arguments, {});
  if (call.name == "upper") return MakeText(Upper(call.text), call.budget);
  if (call.name == "lower") return MakeText(Lower(call.text), call.budget);
  if (call.name == "title") return MakeText(Titled(call.text), call.budget);
  return MakeText(Capitalized(call.text), call.budget);
}

Value CallIs(const Call& call) {
  const Parameters none(call.name, call.arguments, {});
  if (call.name == "isupper") return IsUpper(call.text);
  if (call.name == "islower") return IsLower(call.text);
  if (call.name == "isspace") return AllSpace(call.text);
  if (call.name == "isdigit") return AllDigits(call.text);
  if (call.name == "isalpha") return AllLetters(call.text);
  return AllLettersOrDigits(call.text);
}

// ---- split

// At white space; what is left after `limit` cuts keeps its end.
std::vector<std::string_view> SplitAtSpace(std::string_view text, size_t limit,
                                           WorkBudget& budget) {
  std::vector<std::string_view> pieces;
  for (text = StripLeft(text); !text.empty(); text = StripLeft(text)) {
    budget.Steps();
    if (pieces.size() == limit) {
      pieces.push_back(text);
      break;
    }
    size_t end = 0;
    while (end < text.size()) {
      const auto [c, length] = FirstCodePoint(text.substr(end));
      if (IsSpace(c)) break;
      end += length;
    }
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return pieces;
}

std::vector<std::string_view> SplitAt(std::string_view text, std::string_view separator,
                                      size_t limit, WorkBudget& budget) {
  std::vector<std::string_view> pieces;
  size_t begin = 0;
  while (pieces.size() < limit) {
    budget.Steps();
    const size_t found = FindText(text, separator, begin);
    if (found == kNone) break;
    pieces.push_back(text.substr(begin, found - begin));
    begin = found + separator.size();
  }
  pieces.push_back(text.substr(begin));
  return pieces;
}

Value CallSplit(const Call& call) {
  const Parameters given(call.name, call.arguments, {"sep", "maxsplit"});
  const int64_t most = given.Integer(1, -1);
  const size_t limit = most < 0 ? std::numeric_limits<size_t>::max() : static_cast<size_t>(most);
  const bool at_space = given.Given(0) == nullptr || given.Given(0)->IsNone();
  if (call.name == "rsplit" && most >= 0) {
    throw TemplateError("rsplit with maxsplit is not supported");
  }
  if (at_space) return TextList(SplitAtSpace(call.text, limit, call.budget), call.budget);
  const std::string_view separator = given.Text(0);
  if (separator.empty()) throw TemplateError("split needs a separator that is not empty");
  return TextList(SplitAt(call.text, separator, limit, call.budget), call.budget);
}

Value CallPartition(const Call& call) {
  const Parameters given(call.name, call.arguments, {"sep"}, 1);
  const std::string_view separator = given.Text(0);
  if (separator.empty()) throw TemplateError("partition needs a separator that is not empty");
  const bool last = call.name == "rpartition";
  size_t found = FindText(call.text, separator);
  if (last && found != kNone) found = call.text.rfind(separator);
  if (last) call.budget.Steps(static_cast<int64_t>(separator.size() / 8 * call.text.size() / 8));
  std::vector<Value> parts(3, Value(""));
  if (found == kNone) {
    parts[last ? 2 : 0] = MakeText(std::string(call.text), call.budget);
  } else {
    parts[0] = MakeText(std::string(call.text.substr(0, found)), call.budget);
    parts[1] = Value(separator);
    parts[2] = MakeText(std::string(call.text.substr(found + separator.size())), call.budget);
  }
  return MakeList(std::move(parts), call.budget, List::Shape::kTuple);
}

Value CallSplitLines(const Call& call) {
  const Parameters given(call.name, call.arguments, {"keepends"});
  if (given.Flag(0, false)) throw TemplateError("splitlines with keepends is not supported");
  return TextList(Lines(call.text), call.budget);
}

// ---- find

Value CallAffix(const Call& call) {
  const Parameters given(call.name, call.arguments, {"affix"}, 1);
  const auto holds = [&call](const Value& affix) {
    if (!affix.IsString()) throw TemplateError(std::string(call.name) + " needs a str");
    return call.name == "startswith" ? call.text.starts_with(affix.string())
                                     : call.text.ends_with(affix.string());
  };
  const Value& affix = *given.Given(0);
  RequireDefined(affix);
  if (!affix.IsList() || affix.list().shape != List::Shape::kTuple) return holds(affix);
  return std::any_of(affix.list().items.begin(), affix.list().items.end(), holds);
}

Value CallFind(const Call& call) {
  const Parameters given(call.name, call.arguments, {"sub"}, 1);
  const std::string_view needle = given.Text(0);
  size_t found = FindText(call.text, needle);
  if (call.name == "rfind" && found != kNone) {
    call.budget.Steps(static_cast<int64_t>(needle.size() / 8 * call.text.size() / 8));
    found = call.text.rfind(needle);
  }
  if (found != kNone) return CodePoints(call.text.substr(0, found));
  if (call.name == "index") throw TemplateError("index did not find the text");
  return -1;
}

Value CallCount(const Call& call) {
  const Parameters given(call.name, call.arguments, {"sub"}, 1);
  const std::string_view needle = given.Text(0);
  if (needle.empty()) return CodePoints(call.text) + 1;
  int64_t count = 0;
  for (size_t at = FindText(call.text, needle); at != kNone;
       at = FindText(call.text, needle, at + needle.size())) {
    call.budget.Steps();
    ++count;
  }
  return count;
}

Value CallReplace(const Call& call) {
  const Parameters given(call.name, call.arguments, {"old", "new", "count"}, 2);
  return Replaced(call.text, given.Text(0), given.Text(1), given.Integer(2, -1), call.budget);
}

Value CallJoin(const Call& call) {
  const Parameters given(call.name, call.arguments, {"iterable"}, 1);
  std::string joined;
  bool first = true;
  const ListPtr all = Iterate(*given.Given(0), call.budget);
  for (const Value& item : all->items) {
    if (!item.IsString()) throw TemplateError("join needs strings");
    call.budget.Bytes(call.text.size() + item.string().size());
    if (!std::exchange(first, false)) joined += call.text;
    joined += item.string();
  }
  return Value(std::move(joined));
}

struct TextMethod {
  std::string_view name;
  Value (*call)(const Call& call);
};

constexpr TextMethod kTextMethods[] = {
    {"strip", CallStrip},         {"lstrip", CallStrip},
    {"rstrip", CallStrip},        {"removeprefix", CallRemove},
    {"removesuffix", CallRemove}, {"upper", CallCase},
    {"lower", CallCase},          {"title", CallCase},
    {"capitalize", CallCase},     {"isupper", CallIs},
    {"islower", CallIs},          {"isspace", CallIs},
    {"isdigit", CallIs},          {"isalpha", CallIs},
    {"isalnum", CallIs},          {"split", CallSplit},
    {"rsplit", CallSplit},        {"splitlines", CallSplitLines},
    {"partition", CallPartition}, {"rpartition", CallPartition},
    {"startswith", CallAffix},    {"endswith", CallAffix},
    {"find", CallFind},           {"rfind", CallFind},
    {"index", CallFind},          {"count", CallCount},
    {"replace", CallReplace},     {"join", CallJoin},
};

const TextMethod* Find(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kTextMethods), std::end(kTextMethods),
                   [name](const TextMethod& method) { return method.name == name; });
  return found == std::end(kTextMethods) ? nullptr : found;
}

}  // namespace

bool IsTextMethod(std::string_view name) { return Find(name) != nullptr; }

Value CallTextMethod(std::string_view text, std::string_view name, const Arguments& arguments,
                     WorkBudget& budget) {
  budget.Steps(1 + static_cast<int64_t>(text.size() / 64));
  return Find(name)->call({text, name, arguments, budget});
}

Value Replaced(std::string_view text, std::string_view old, std::string_view by, int64_t count,
               WorkBudget& budget) {
  std::string out;
  const auto replaces = [&count, &budget] {
    budget.Steps();
    return count < 0 || count-- > 0;
  };
  if (old.empty()) {
    budget.Steps(CodePoints(text));
    for (const std::string_view character : Characters(text)) {
      if (replaces()) {
        budget.Bytes(by.size());
        out += by;
      }
      out += character;
    }
    if (replaces()) out += by;
    return MakeText(std::move(out), budget);
  }
  size_t begin = 0;
  for (size_t at = FindText(text, old); at != kNone && replaces();
       at = FindText(text, old, begin)) {
    budget.Bytes(by.size());
    out.append(text, begin, at - begin).append(by);
    begin = at + old.size();
  }
  out += text.substr(begin);
  return MakeText(std::move(out), budget);
}

}  // namespace affine::jinja
