#include "model/jinja/value_tests.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "model/jinja/filters.h"
#include "model/jinja/loop.h"
#include "model/jinja/operators.h"
#include "model/jinja/printed.h"
#include "model/jinja/unicode_text.h"

namespace affine::jinja {
namespace {

// `other` is None for tests without an argument.
using Holds = bool (*)(const Value& value, const Value& other, WorkBudget& budget);

struct Test {
  std::string_view name;
  size_t arguments;
  Holds holds;
};

template <Operator op>
bool Compared(const Value& value, const Value& other, WorkBudget& budget) {
  return Compare(op, value, other, budget);
}

bool IsDefined(const Value& value, const Value&, WorkBudget&) { return !value.IsUndefined(); }
bool IsUndefined(const Value& value, const Value&, WorkBudget&) { return value.IsUndefined(); }
bool IsNone(const Value& value, const Value&, WorkBudget&) { return value.IsNone(); }
bool IsString(const Value& value, const Value&, WorkBudget&) { return value.IsString(); }
bool IsMapping(const Value& value, const Value&, WorkBudget&) { return value.IsDict(); }
bool IsBoolean(const Value& value, const Value&, WorkBudget&) { return value.As<bool>(); }
bool IsInteger(const Value& value, const Value&, WorkBudget&) { return value.As<int64_t>(); }
bool IsFloat(const Value& value, const Value&, WorkBudget&) { return value.As<double>(); }
bool IsNumber(const Value& value, const Value&, WorkBudget&) { return NumberOf(value).has_value(); }
bool IsTrue(const Value& value, const Value&, WorkBudget&) {
  return value.As<bool>() != nullptr && *value.As<bool>();
}
bool IsFalse(const Value& value, const Value&, WorkBudget&) {
  return value.As<bool>() != nullptr && !*value.As<bool>();
}
// Of Python's rows, views have no items by index.
bool IsSequence(const Value& value, const Value&, WorkBudget&) {
  return value.IsString() || value.IsDict() || value.IsUndefined() ||
         (value.IsList() &&
          (value.list().shape == List::Shape::kList || value.list().shape == List::Shape::kTuple));
}
bool IsIterable(const Value& value, const Value&, WorkBudget&) {
  return value.IsString() || value.IsDict() || value.IsList() || value.IsUndefined();
}
bool IsCallable(const Value& value, const Value&, WorkBudget&) {
  return value.As<Value::Method>() || value.As<Value::Function>() ||
         value.As<std::shared_ptr<const MacroRef>>();
}
bool IsUpperText(const Value& value, const Value&, WorkBudget& budget) {
  return IsUpper(Printed(value, budget));
}
bool IsLowerText(const Value& value, const Value&, WorkBudget& budget) {
  return IsLower(Printed(value, budget));
}
bool IsOdd(const Value& value, const Value&, WorkBudget& budget) {
  return Equal(Calculate(Operator::kModulo, value, 2, budget), 1, budget);
}
bool IsEven(const Value& value, const Value&, WorkBudget& budget) {
  return Equal(Calculate(Operator::kModulo, value, 2, budget), 0, budget);
}
bool IsDivisible(const Value& value, const Value& other, WorkBudget& budget) {
  return Equal(Calculate(Operator::kModulo, value, other, budget), 0, budget);
}
// What is one object in Python: constants and small values are compared as such.
bool IsSame(const Value& value, const Value& other, WorkBudget& budget) {
  return value.variant().index() == other.variant().index() && Equal(value, other, budget);
}
bool IsNameOfFilter(const Value& value, const Value&, WorkBudget&) {
  return value.IsString() && IsFilter(value.string());
}
bool IsNameOfTest(const Value& value, const Value&, WorkBudget&) {
  return value.IsString() && IsValueTest(value.string());
}

constexpr Test kTests[] = {
    {"defined", 0, IsDefined},
    {"undefined", 0, IsUndefined},
    {"none", 0, IsNone},
    {"string", 0, IsString},
    {"mapping", 0, IsMapping},
    {"sequence", 0, IsSequence},
    {"iterable", 0, IsIterable},
    {"callable", 0, IsCallable},
    {"number", 0, IsNumber},
    {"integer", 0, IsInteger},
    {"float", 0, IsFloat},
    {"boolean", 0, IsBoolean},
    {"true", 0, IsTrue},
    {"false", 0, IsFalse},
    {"odd", 0, IsOdd},
    {"even", 0, IsEven},
    {"divisibleby", 1, IsDivisible},
    {"upper", 0, IsUpperText},
    {"lower", 0, IsLowerText},
    {"filter", 0, IsNameOfFilter},
    {"test", 0, IsNameOfTest},
    {"sameas", 1, IsSame},
    {"in", 1, Compared<Operator::kIn>},
    {"eq", 1, Compared<Operator::kEqual>},
    {"equalto", 1, Compared<Operator::kEqual>},
    {"==", 1, Compared<Operator::kEqual>},
    {"ne", 1, Compared<Operator::kNotEqual>},
    {"!=", 1, Compared<Operator::kNotEqual>},
    {"lt", 1, Compared<Operator::kLess>},
    {"lessthan", 1, Compared<Operator::kLess>},
    {"<", 1, Compared<Operator::kLess>},
    {"le", 1, Compared<Operator::kLessEqual>},
    {"<=", 1, Compared<Operator::kLessEqual>},
    {"gt", 1, Compared<Operator::kGreater>},
    {"greaterthan", 1, Compared<Operator::kGreater>},
    {">", 1, Compared<Operator::kGreater>},
    {"ge", 1, Compared<Operator::kGreaterEqual>},
    {">=", 1, Compared<Operator::kGreaterEqual>},
};

const Test* Find(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTests), std::end(kTests),
                                   [name](const Test& test) { return test.name == name; });
  return found == std::end(kTests) ? nullptr : found;
}

}  // namespace

bool IsValueTest(std::string_view name) { return Find(name) != nullptr; }

bool ApplyTest(std::string_view name, const Value& subject, const Arguments& arguments,
               WorkBudget& budget) {
  budget.Steps();
  const Test* test = Find(name);
  if (test == nullptr) throw TemplateError("there is no test '" + std::string(name) + "' here");
  if (!arguments.named.empty() || arguments.positional.size() != test->arguments) {
    throw TemplateError("the test " + std::string(name) + " takes " +
                        std::to_string(test->arguments) + " arguments");
  }
  const Value other = test->arguments > 0 ? arguments.positional.front() : Value();
  return test->holds(subject, other, budget);
}

}  // namespace affine::jinja
