#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <utility>

#include "model/jinja/filter_call.h"
#include "model/jinja/operators.h"
#include "model/jinja/printed.h"
#include "model/jinja/unicode_text.h"
#include "model/jinja/value_tests.h"

namespace affine::jinja {
namespace {

// `object` at a path such as "function.name" or 0, as map and its kin take it.
Value AtPath(Value object, const Value& path, WorkBudget& budget) {
  if (!path.IsString()) return ItemOf(object, path, budget);
  std::string_view rest = path.string();
  while (true) {
    const size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    int64_t index = 0;
    const char* end = part.data() + part.size();
    const bool is_index =
        !part.empty() && part[0] != '-' && std::from_chars(part.data(), end, index).ptr == end;
    object = ItemOf(object, is_index ? Value(index) : Value(part), budget);
    if (dot == std::string_view::npos) return object;
    rest.remove_prefix(dot + 1);
  }
}

// What is compared where case doesn't count.
Value Folded(const Value& value, bool case_sensitive, WorkBudget& budget) {
  if (case_sensitive || !value.IsString()) return value;
  return MakeText(Lower(value.string()), budget);
}

Value KeyOf(const Value& item, const Value* path, bool case_sensitive, WorkBudget& budget) {
  const bool has_path = path != nullptr && !path->IsNone();
  return Folded(has_path ? AtPath(item, *path, budget) : item, case_sensitive, budget);
}

Value Generated(std::vector<Value> items, WorkBudget& budget) {
  return MakeList(std::move(items), budget, List::Shape::kGenerator);
}

// ---- one of them

Value First(const FilterCall& call) {
  call.Bind({});
  const ListPtr list = Iterate(call.subject, call.budget);
  return list->items.empty() ? UndefinedValue("No first item, sequence was empty.")
                             : list->items.front();
}

Value Last(const FilterCall& call) {
  call.Bind({});
  const ListPtr list = Iterate(call.subject, call.budget);
  return list->items.empty() ? UndefinedValue("No last item, sequence was empty.")
                             : list->items.back();
}

Value Extreme(const FilterCall& call) {
  const Parameters given = call.Bind({"case_sensitive", "attribute"});
  const bool sensitive = given.Flag(0, false);
  const ListPtr list = Iterate(call.subject, call.budget);
  if (list->items.empty()) return UndefinedValue("No aggregated item, sequence was empty.");
  const Value* best = nullptr;
  Value best_key;
  for (const Value& item : list->items) {
    Value key = KeyOf(item, given.Given(1), sensitive, call.budget);
    const bool better = best == nullptr || (call.name == "min" ? Less(key, best_key, call.budget)
                                                               : Less(best_key, key, call.budget));
    if (!better) continue;
    best = &item;
    best_key = std::move(key);
  }
  return *best;
}

// ---- in another order or shape

Value ListOf(const FilterCall& call) {
  call.Bind({});
  return MakeList(Iterate(call.subject, call.budget)->items, call.budget);
}

Value Reverse(const FilterCall& call) {
  call.Bind({});
  if (call.subject.IsString()) {
    return SliceOf(call.subject, std::nullopt, std::nullopt, -1, call.budget);
  }
  std::vector<Value> items = Iterate(call.subject, call.budget)->items;
  std::reverse(items.begin(), items.end());
  return Generated(std::move(items), call.budget);
}

using Keyed = std::pair<Value, Value>;

void SortByKey(std::vector<Keyed>& items, bool reverse, WorkBudget& budget) {
  std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
    return reverse ? Less(b.first, a.first, budget) : Less(a.first, b.first, budget);
  });
}

Value Sorted(std::vector<Keyed> items, bool reverse, WorkBudget& budget) {
  SortByKey(items, reverse, budget);
  std::vector<Value> sorted;
  for (Keyed& item : items) sorted.push_back(std::move(item.second));
  return MakeList(std::move(sorted), budget);
}

Value Sort(const FilterCall& call) {
  const Parameters given = call.Bind({"reverse", "case_sensitive", "attribute"});
  std::vector<Keyed> items;
  const ListPtr all = Iterate(call.subject, call.budget);
  for (const Value& item : all->items) {
    items.emplace_back(KeyOf(item, given.Given(2), given.Flag(1, false), call.budget), item);
  }
  return Sorted(std::move(items), given.Flag(0, false), call.budget);
}

Value DictSort(const FilterCall& call) {
  const Parameters given = call.Bind({"case_sensitive", "by", "reverse"});
  const std::string_view by = given.Text(1, "key");
  if (by != "key" && by != "value") throw TemplateError("dictsort is by key or by value");
  if (!call.subject.IsDict()) throw TemplateError("dictsort needs a dict");
  std::vector<Keyed> items;
  for (const auto& [key, value] : call.subject.dict().items) {
    items.emplace_back(Folded(by == "key" ? key : value, given.Flag(0, false), call.budget),
                       MakeList({key, value}, call.budget, List::Shape::kTuple));
  }
  return Sorted(std::move(items), given.Flag(2, false), call.budget);
}

Value Unique(const FilterCall& call) {
  const Parameters given = call.Bind({"case_sensitive", "attribute"});
  std::vector<Value> keys;
  std::vector<Value> items;
  const ListPtr all = Iterate(call.subject, call.budget);
  for (const Value& item : all->items) {
    Value key = KeyOf(item, given.Given(1), given.Flag(0, false), call.budget);
    const bool seen = std::any_of(keys.begin(), keys.end(), [&](const Value& known) {
      return Equal(known, key, call.budget);
    });
    if (seen) continue;
    keys.push_back(std::move(key));
    items.push_back(item);
  }
  return Generated(std::move(items), call.budget);
}

Value Items(const FilterCall& call) {
  call.Bind({});
  if (call.subject.IsUndefined()) return Generated({}, call.budget);
  if (!call.subject.IsDict()) throw TemplateError("items needs a dict");
  std::vector<Value> items;
  for (const auto& [key, value] : call.subject.dict().items) {
    items.push_back(MakeList({key, value}, call.budget, List::Shape::kTuple));
  }
  return Generated(std::move(items), call.budget);
}

// ---- all of them as one

Value Length(const FilterCall& call) {
  call.Bind({});
  return LengthOf(call.subject);
}

Value Join(const FilterCall& call) {
  const Parameters given = call.Bind({"d", "attribute"});
  const std::string separator = given.Given(0) ? Printed(*given.Given(0), call.budget) : "";
  std::string joined;
  bool first = true;
  const ListPtr all = Iterate(call.subject, call.budget);
  for (const Value& item : all->items) {
    call.budget.Bytes(separator.size());
    if (!std::exchange(first, false)) joined += separator;
    joined += Printed(KeyOf(item, given.Given(1), true, call.budget), call.budget);
  }
  return Value(std::move(joined));
}

Value Sum(const FilterCall& call) {
  const Parameters given = call.Bind({"attribute", "start"});
  Value sum = given.Given(1) != nullptr ? *given.Given(1) : Value(0);
  const ListPtr all = Iterate(call.subject, call.budget);
  for (const Value& item : all->items) {
    sum =
        Calculate(Operator::kAdd, sum, KeyOf(item, given.Given(0), true, call.budget), call.budget);
  }
  return sum;
}

// ---- map, select

// All but the first `count` arguments.
Arguments Behind(const Arguments& arguments, size_t count) {
  Arguments rest;
  if (arguments.positional.size() > count) {
    rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(count),
                           arguments.positional.end());
  }
  rest.named = arguments.named;
  return rest;
}

Value MapAttribute(const FilterCall& call) {
  const Parameters given = call.Bind({"attribute", "default"}, 1);
  std::vector<Value> items;
  const ListPtr all = Iterate(call.subject, call.budget);
  for (const Value& item : all->items) {
    Value found = AtPath(item, *given.Given(0), call.budget);
    if (found.IsUndefined() && given.Given(1) != nullptr) found = *given.Given(1);
    items.push_back(std::move(found));
  }
  return Generated(std::move(items), call.budget);
}

Value Map(const FilterCall& call) {
  if (call.arguments.positional.empty()) return MapAttribute(call);
  const Value& name = call.arguments.positional.front();
  if (!name.IsString()) throw TemplateError("map needs the name of a filter");
  const Arguments rest = Behind(call.arguments, 1);
  std::vector<Value> items;
  const ListPtr all = Iterate(call.subject, call.budget);
  for (const Value& item : all->items) {
    items.push_back(ApplyFilterAt(call.depth + 1, name.string(), item, rest, call.budget));
  }
  return Generated(std::move(items), call.budget);
}

// select and reject, with attr of an attribute.
Value Select(const FilterCall& call) {
  const bool wanted = call.name.starts_with("select");
  const bool by_attribute = call.name.ends_with("attr");
  const std::vector<Value>& given = call.arguments.positional;
  if (by_attribute && given.empty()) throw TemplateError(std::string(call.name) + " needs a name");
  const size_t at = by_attribute ? 1 : 0;
  const bool tests = given.size() > at;
  if (tests && !given[at].IsString()) throw TemplateError("a test's name must be a str");
  const Arguments rest = Behind(call.arguments, at + 1);
  std::vector<Value> items;
  const ListPtr all = Iterate(call.subject, call.budget);
  for (const Value& item : all->items) {
    const Value value = by_attribute ? AtPath(item, given[0], call.budget) : item;
    const bool holds =
        tests ? ApplyTest(given[at].string(), value, rest, call.budget) : Truth(value);
    if (holds == wanted) items.push_back(item);
  }
  return Generated(std::move(items), call.budget);
}

Value Default(const FilterCall& call) {
  const Parameters given = call.Bind({"default_value", "boolean"});
  const bool absent = call.subject.IsUndefined() || (given.Flag(1, false) && !Truth(call.subject));
  if (!absent) return call.subject;
  return given.Given(0) != nullptr ? *given.Given(0) : Value("");
}

struct Named {
  std::string_view name;
  FilterFunction function;
};

constexpr Named kFilters[] = {
    {"first", First},   {"last", Last},         {"min", Extreme},       {"max", Extreme},
    {"list", ListOf},   {"reverse", Reverse},   {"sort", Sort},         {"dictsort", DictSort},
    {"unique", Unique}, {"items", Items},       {"length", Length},     {"count", Length},
    {"join", Join},     {"sum", Sum},           {"map", Map},           {"select", Select},
    {"reject", Select}, {"selectattr", Select}, {"rejectattr", Select}, {"default", Default},
    {"d", Default},
};

}  // namespace

FilterFunction FindListFilter(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                   [name](const Named& filter) { return filter.name == name; });
  return found == std::end(kFilters) ? nullptr : found->function;
}

}  // namespace affine::jinja
