#include "model/jinja/methods.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "model/jinja/loop.h"
#include "model/jinja/text_methods.h"

namespace affine::jinja {
namespace {

constexpr std::string_view kDictMethods[] = {"items", "keys", "values", "get", "copy"};
constexpr std::string_view kListMethods[] = {"index", "count"};

template <size_t N>
bool Names(const std::string_view (&methods)[N], std::string_view name) {
  return std::find(std::begin(methods), std::end(methods), name) != std::end(methods);
}

Value CallDictMethod(const Value& object, std::string_view name, const Arguments& arguments,
                     WorkBudget& budget) {
  const Dict& dict = object.dict();
  if (name == "get") {
    const Parameters given(name, arguments, {"key", "default"}, 1);
    if (const Value* found = FindKey(dict, *given.Given(0), budget)) return *found;
    return given.Given(1) != nullptr ? *given.Given(1) : Value();
  }
  const Parameters none(name, arguments, {});
  if (name == "copy") return object;
  std::vector<Value> items;
  for (const auto& [key, value] : dict.items) {
    if (name == "items") {
      items.push_back(MakeList({key, value}, budget, List::Shape::kTuple));
    } else {
      items.push_back(name == "keys" ? key : value);
    }
  }
  return MakeList(std::move(items), budget, List::Shape::kView);
}

Value CallListMethod(const Value& object, std::string_view name, const Arguments& arguments,
                     WorkBudget& budget) {
  const Parameters given(name, arguments, {"value"}, 1);
  const std::vector<Value>& items = object.list().items;
  int64_t count = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!Equal(items[i], *given.Given(0), budget)) continue;
    if (name == "index") return static_cast<int64_t>(i);
    ++count;
  }
  if (name == "index") throw TemplateError("the value is not in the list");
  return count;
}

Value Cycle(const Loop& loop, const Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.named.empty()) {
    throw TemplateError("cycle needs values to cycle through");
  }
  return arguments.positional[loop.index % arguments.positional.size()];
}

}  // namespace

bool IsMethod(const Value& object, std::string_view name) {
  if (object.IsString()) return IsTextMethod(name);
  if (object.IsDict()) return Names(kDictMethods, name);
  if (object.IsList()) {
    return Names(kListMethods, name) && object.list().shape != List::Shape::kGenerator;
  }
  return object.As<std::shared_ptr<const Loop>>() != nullptr && name == "cycle";
}

Value CallMethod(const Value& object, std::string_view name, const Arguments& arguments,
                 WorkBudget& budget) {
  if (object.IsString()) return CallTextMethod(object.string(), name, arguments, budget);
  if (object.IsDict()) return CallDictMethod(object, name, arguments, budget);
  if (object.IsList()) return CallListMethod(object, name, arguments, budget);
  return Cycle(**object.As<std::shared_ptr<const Loop>>(), arguments);
}

}  // namespace affine::jinja
