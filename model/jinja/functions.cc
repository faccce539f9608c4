#include "model/jinja/functions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "model/jinja/printed.h"

namespace affine::jinja {
namespace {

using Function = Value::Function;

Value Range(const Arguments& arguments, WorkBudget& budget) {
  const Parameters given("range", arguments, {"start", "stop", "step"}, 1);
  const bool alone = given.Given(1) == nullptr;
  const int64_t start = alone ? 0 : given.Integer(0, 0);
  const int64_t stop = alone ? given.Integer(0, 0) : given.Integer(1, 0);
  const int64_t step = given.Integer(2, 1);
  if (step == 0) throw TemplateError("range's step is 0");
  std::vector<Value> items;
  for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (static_cast<int64_t>(items.size()) == kMaxRange) {
      throw TemplateError("a range has more than " + std::to_string(kMaxRange) + " numbers");
    }
    items.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return MakeList(std::move(items), budget, List::Shape::kView);
}

std::vector<std::pair<Value, Value>> PairsOf(std::string_view what, const Arguments& arguments) {
  std::vector<std::pair<Value, Value>> pairs;
  if (!arguments.positional.empty()) {
    const Value& from = arguments.positional.front();
    if (arguments.positional.size() > 1 || !from.IsDict()) {
      throw TemplateError(std::string(what) + " takes one dict, and values by name");
    }
    pairs = from.dict().items;
  }
  for (const auto& [name, value] : arguments.named) pairs.emplace_back(Value(name), value);
  return pairs;
}

Value MakeNamespace(const Arguments& arguments, WorkBudget& budget) {
  auto space = std::make_shared<Namespace>();
  for (auto& [key, value] : PairsOf("namespace", arguments)) {
    budget.Bytes(2 * sizeof(Value));
    DepthOf(value);  // refuses a namespace
    if (!key.IsString()) throw TemplateError("a namespace's names are strings");
    space->members[key.string()] = std::move(value);
  }
  return space;
}

Value Now(const Arguments& arguments, const std::tm& now, WorkBudget& budget) {
  const Parameters given("strftime_now", arguments, {"format"}, 1);
  const std::string format(given.Text(0));
  if (format.empty()) return Value("");
  std::string text(format.size() * 4 + 256, '\0');
  budget.Bytes(text.size());
  text.resize(std::strftime(text.data(), text.size(), format.c_str(), &now));
  if (text.empty()) throw TemplateError("strftime_now makes too much text or none");
  return Value(std::move(text));
}

}  // namespace

Scope FunctionScope() {
  Scope scope;
  scope.names = {{"range", Function::kRange},
                 {"dict", Function::kDict},
                 {"namespace", Function::kNamespace},
                 {"raise_exception", Function::kRaiseException},
                 {"strftime_now", Function::kStrftimeNow}};
  return scope;
}

Value CallFunction(Function function, const Arguments& arguments, const std::tm& now,
                   WorkBudget& budget) {
  switch (function) {
    case Function::kRange:
      return Range(arguments, budget);
    case Function::kDict:
      return MakeDict(PairsOf("dict", arguments), budget);
    case Function::kNamespace:
      return MakeNamespace(arguments, budget);
    case Function::kStrftimeNow:
      return Now(arguments, now, budget);
    case Function::kRaiseException:
      break;
  }
  const Parameters given("raise_exception", arguments, {"message"}, 1);
  throw RaisedByTemplate(Printed(*given.Given(0), budget));
}

}  // namespace affine::jinja
