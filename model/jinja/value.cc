#include "model/jinja/value.h"

#include <algorithm>

#include "model/jinja/loop.h"
#include "model/jinja/unicode_text.h"

namespace affine::jinja {
namespace {

bool IsHashable(const Value& key) {
  return key.IsString() || key.IsNone() || NumberOf(key).has_value();
}

bool EqualItems(const std::vector<Value>& a, const std::vector<Value>& b, WorkBudget& budget) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(),
                    [&budget](const Value& x, const Value& y) { return Equal(x, y, budget); });
}

bool EqualDicts(const Dict& a, const Dict& b, WorkBudget& budget) {
  if (a.items.size() != b.items.size()) return false;
  return std::all_of(a.items.begin(), a.items.end(), [&](const auto& item) {
    const Value* other = FindKey(b, item.first, budget);
    return other != nullptr && Equal(item.second, *other, budget);
  });
}

std::vector<Value> CharactersOf(const std::string& text, WorkBudget& budget) {
  budget.Steps(CodePoints(text));
  budget.Bytes(text.size() * sizeof(Value));
  std::vector<Value> items;
  for (const std::string_view character : Characters(text)) items.emplace_back(character);
  return items;
}

}  // namespace

Value UndefinedValue(std::string hint) {
  return Value::Undefined{std::make_shared<const std::string>(std::move(hint))};
}

Value MakeList(std::vector<Value> items, WorkBudget& budget, List::Shape shape) {
  budget.Steps(static_cast<int64_t>(items.size()));
  budget.Bytes(items.size() * sizeof(Value));
  auto list = std::make_shared<List>();
  for (const Value& item : items) list->depth = std::max(list->depth, DepthOf(item) + 1);
  if (list->depth > kMaxValueDepth) {
    throw TemplateError("a value is nested deeper than " + std::to_string(kMaxValueDepth));
  }
  list->items = std::move(items);
  list->shape = shape;
  return ListPtr(std::move(list));
}

Value MakeDict(std::vector<std::pair<Value, Value>> items, WorkBudget& budget) {
  budget.Bytes(items.size() * 2 * sizeof(Value));
  auto dict = std::make_shared<Dict>();
  for (auto& [key, value] : items) {
    if (!IsHashable(key)) {
      throw TemplateError(std::string("a ") + TypeName(key) + " can't be a key of a dict");
    }
    dict->depth = std::max(dict->depth, DepthOf(value) + 1);
    if (const Value* known = FindKey(*dict, key, budget)) {
      *const_cast<Value*>(known) = std::move(value);  // of the dict in the making
    } else {
      dict->items.emplace_back(std::move(key), std::move(value));
    }
  }
  if (dict->depth > kMaxValueDepth) {
    throw TemplateError("a value is nested deeper than " + std::to_string(kMaxValueDepth));
  }
  return DictPtr(std::move(dict));
}

Value MakeText(std::string text, WorkBudget& budget) {
  budget.Bytes(text.size());
  return Value(std::move(text));
}

const Value* FindKey(const Dict& dict, const Value& key, WorkBudget& budget) {
  for (const auto& [known, value] : dict.items) {
    if (Equal(known, key, budget)) return &value;
  }
  return nullptr;
}

bool Truth(const Value& value) {
  if (const auto* flag = value.As<bool>()) return *flag;
  if (const auto* number = value.As<int64_t>()) return *number != 0;
  if (const auto* number = value.As<double>()) return *number != 0;
  if (value.IsString()) return !value.string().empty();
  if (value.IsList()) {
    return value.list().shape == List::Shape::kGenerator || !value.list().items.empty();
  }
  if (value.IsDict()) return !value.dict().items.empty();
  return !value.IsUndefined() && !value.IsNone();
}

bool Equal(const Value& a, const Value& b, WorkBudget& budget) {
  budget.Steps();
  if (const auto* x = a.As<int64_t>(), *y = b.As<int64_t>(); x && y) return *x == *y;
  if (const auto x = NumberOf(a), y = NumberOf(b); x && y) return *x == *y;
  if (a.IsString() && b.IsString()) {
    const bool same = a.string().size() == b.string().size();
    if (same) budget.Steps(static_cast<int64_t>(a.string().size() / 64));
    return same && a.string() == b.string();
  }
  if (a.IsList() && b.IsList()) {
    return a.list().shape == b.list().shape && EqualItems(a.list().items, b.list().items, budget);
  }
  if (a.IsDict() && b.IsDict()) return EqualDicts(a.dict(), b.dict(), budget);
  if (a.variant().index() != b.variant().index()) return false;
  if (const auto* space = a.As<std::shared_ptr<Namespace>>()) {
    return *space == *b.As<std::shared_ptr<Namespace>>();
  }
  return a.IsNone() || a.IsUndefined();
}

bool Less(const Value& a, const Value& b, WorkBudget& budget) {
  budget.Steps();
  RequireDefined(a);
  RequireDefined(b);
  if (const auto* x = a.As<int64_t>(), *y = b.As<int64_t>(); x && y) return *x < *y;
  if (const auto x = NumberOf(a), y = NumberOf(b); x && y) return *x < *y;
  if (a.IsString() && b.IsString()) {
    budget.Steps(static_cast<int64_t>(std::min(a.string().size(), b.string().size()) / 64));
    return a.string() < b.string();
  }
  if (a.IsList() && b.IsList() && a.list().shape == b.list().shape) {
    const std::vector<Value>& x = a.list().items;
    const std::vector<Value>& y = b.list().items;
    for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
      if (!Equal(x[i], y[i], budget)) return Less(x[i], y[i], budget);
    }
    return x.size() < y.size();
  }
  throw TemplateError(std::string("a ") + TypeName(a) + " and a " + TypeName(b) + " have no order");
}

int DepthOf(const Value& value) {
  if (value.IsList()) return value.list().depth;
  if (value.IsDict()) return value.dict().depth;
  if (value.As<std::shared_ptr<Namespace>>()) {
    throw TemplateError("a namespace can't be part of another value");
  }
  if (const auto* loop = value.As<std::shared_ptr<const Loop>>()) return (*loop)->items->depth + 1;
  return 0;
}

std::optional<int64_t> IntegerOf(const Value& value) {
  if (const auto* flag = value.As<bool>()) return *flag ? 1 : 0;
  if (const auto* number = value.As<int64_t>()) return *number;
  return std::nullopt;
}

std::optional<double> NumberOf(const Value& value) {
  if (const auto* number = value.As<double>()) return *number;
  if (const auto integer = IntegerOf(value)) return static_cast<double>(*integer);
  return std::nullopt;
}

const char* TypeName(const Value& value) {
  if (value.IsList()) {
    switch (value.list().shape) {
      case List::Shape::kList:
        return "list";
      case List::Shape::kTuple:
        return "tuple";
      case List::Shape::kView:
        return "view";
      case List::Shape::kGenerator:
        return "generator";
    }
  }
  constexpr const char* kNames[] = {"undefined", "NoneType", "bool",    "int",       "float",
                                    "str",       "list",     "dict",    "Namespace", "loop",
                                    "macro",     "method",   "function"};
  return kNames[value.variant().index()];
}

ListPtr Iterate(const Value& value, WorkBudget& budget) {
  if (const auto* list = value.As<ListPtr>()) {
    if ((*list)->shape != List::Shape::kGenerator) return *list;
    if (!std::exchange((*list)->spent, true)) return *list;
    return std::make_shared<List>();
  }
  if (value.IsUndefined()) return std::make_shared<List>();
  std::vector<Value> items;
  if (value.IsString()) {
    items = CharactersOf(value.string(), budget);
  } else if (value.IsDict()) {
    for (const auto& [key, item] : value.dict().items) items.push_back(key);
  } else {
    throw TemplateError(std::string("a ") + TypeName(value) + " can't be iterated over");
  }
  return *MakeList(std::move(items), budget).As<ListPtr>();
}

int64_t LengthOf(const Value& value) {
  if (value.IsString()) return CodePoints(value.string());
  if (value.IsDict()) return static_cast<int64_t>(value.dict().items.size());
  if (value.IsList() && value.list().shape != List::Shape::kGenerator) {
    return static_cast<int64_t>(value.list().items.size());
  }
  if (value.IsUndefined()) return 0;
  throw TemplateError(std::string("a ") + TypeName(value) + " has no length");
}

void RequireDefined(const Value& value) {
  if (const auto* undefined = value.As<Value::Undefined>()) throw TemplateError(*undefined->hint);
}

}  // namespace affine::jinja
