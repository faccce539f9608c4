#include "model/jinja/evaluator.h"

#include <string>
#include <utility>

#include "model/jinja/filters.h"
#include "model/jinja/functions.h"
#include "model/jinja/loop.h"
#include "model/jinja/methods.h"
#include "model/jinja/operators.h"
#include "model/jinja/printed.h"
#include "model/jinja/value_tests.h"

namespace affine::jinja {

using Kind = Expression::Kind;

Value Evaluator::Evaluate(const Expression& expression, const Scope& scope) {
  const Level level(*this);
  budget_.Steps();
  switch (expression.kind) {
    case Kind::kLiteral:
      return expression.value;
    case Kind::kName:
      return EvaluateName(expression, scope);
    case Kind::kList:
    case Kind::kTuple:
      return EvaluateItems(expression, scope);
    case Kind::kDict:
      return EvaluateDict(expression, scope);
    case Kind::kAttribute:
      return AttributeOf(Evaluate(*expression.parts[0], scope), expression.name, budget_);
    case Kind::kItem:
      return ItemOf(Evaluate(*expression.parts[0], scope), Evaluate(*expression.parts[1], scope),
                    budget_);
    case Kind::kSlice:
      return EvaluateSlice(expression, scope);
    case Kind::kCall:
      return EvaluateCall(expression, scope);
    case Kind::kFilter:
      return Filtered(expression, Evaluate(*expression.parts[0], scope), scope);
    case Kind::kTest:
      return EvaluateTest(expression, scope);
    case Kind::kUnary:
      return EvaluateUnary(expression, scope);
    case Kind::kBinary:
      return EvaluateBinary(expression, scope);
    case Kind::kCompare:
      return EvaluateCompare(expression, scope);
    case Kind::kConcat:
      return EvaluateConcat(expression, scope);
    case Kind::kCondition:
      break;
  }
  return EvaluateCondition(expression, scope);
}

Value Evaluator::EvaluateName(const Expression& expression, const Scope& scope) {
  if (const Value* found = scope.Find(expression.name)) return *found;
  return UndefinedValue("'" + expression.name + "' is undefined");
}

Value Evaluator::EvaluateItems(const Expression& expression, const Scope& scope) {
  std::vector<Value> items;
  for (const auto& part : expression.parts) items.push_back(Evaluate(*part, scope));
  return MakeList(std::move(items), budget_,
                  expression.kind == Kind::kTuple ? List::Shape::kTuple : List::Shape::kList);
}

Value Evaluator::EvaluateDict(const Expression& expression, const Scope& scope) {
  std::vector<std::pair<Value, Value>> items;
  for (size_t i = 0; i < expression.parts.size(); i += 2) {
    Value key = Evaluate(*expression.parts[i], scope);
    items.emplace_back(std::move(key), Evaluate(*expression.parts[i + 1], scope));
  }
  return MakeDict(std::move(items), budget_);
}

std::optional<int64_t> Evaluator::IndexOf(const ExpressionPtr& part, const Scope& scope) {
  if (part == nullptr) return std::nullopt;
  const Value value = Evaluate(*part, scope);
  if (value.IsNone()) return std::nullopt;
  RequireDefined(value);
  const auto index = IntegerOf(value);
  if (!index) throw TemplateError(std::string("a ") + TypeName(value) + " can't be an index");
  return index;
}

Value Evaluator::EvaluateSlice(const Expression& expression, const Scope& scope) {
  const Value object = Evaluate(*expression.parts[0], scope);
  const auto start = IndexOf(expression.parts[1], scope);
  const auto stop = IndexOf(expression.parts[2], scope);
  return SliceOf(object, start, stop, IndexOf(expression.parts[3], scope), budget_);
}

Arguments Evaluator::ArgumentsOf(const Expression& call, const Scope& scope) {
  Arguments arguments;
  for (size_t i = 1; i < call.parts.size(); ++i) {
    arguments.positional.push_back(Evaluate(*call.parts[i], scope));
  }
  for (const auto& [name, part] : call.named) {
    arguments.named.emplace_back(name, Evaluate(*part, scope));
  }
  return arguments;
}

Value Evaluator::EvaluateCall(const Expression& expression, const Scope& scope) {
  const Expression& callee = *expression.parts[0];
  if (callee.kind != Kind::kAttribute) {
    const Value function = Evaluate(callee, scope);
    return Call(function, ArgumentsOf(expression, scope));
  }
  const Value object = Evaluate(*callee.parts[0], scope);
  const Value attribute = AttributeOf(object, callee.name, budget_);
  const Arguments arguments = ArgumentsOf(expression, scope);
  if (attribute.As<Value::Method>()) return CallMethod(object, callee.name, arguments, budget_);
  return Call(attribute, arguments);
}

Value Evaluator::Call(const Value& callee, const Arguments& arguments) {
  if (const auto* function = callee.As<Value::Function>()) {
    return CallFunction(*function, arguments, now_, budget_);
  }
  if (const auto* macro = callee.As<std::shared_ptr<const MacroRef>>()) {
    return macros_.Run(*(*macro)->macro, arguments);
  }
  RequireDefined(callee);
  throw TemplateError(std::string("a ") + TypeName(callee) + " can't be called here");
}

Value Evaluator::Filtered(const Expression& filter, const Value& subject, const Scope& scope) {
  return ApplyFilter(filter.name, subject, ArgumentsOf(filter, scope), budget_);
}

Value Evaluator::EvaluateTest(const Expression& expression, const Scope& scope) {
  const Value subject = Evaluate(*expression.parts[0], scope);
  return ApplyTest(expression.name, subject, ArgumentsOf(expression, scope), budget_);
}

Value Evaluator::EvaluateUnary(const Expression& expression, const Scope& scope) {
  const Value operand = Evaluate(*expression.parts[0], scope);
  if (expression.operators[0] == Operator::kNot) return !Truth(operand);
  return Signed(expression.operators[0], operand);
}

Value Evaluator::EvaluateBinary(const Expression& expression, const Scope& scope) {
  const Operator op = expression.operators[0];
  Value left = Evaluate(*expression.parts[0], scope);
  if (op == Operator::kAnd || op == Operator::kOr) {
    if (Truth(left) == (op == Operator::kOr)) return left;
    return Evaluate(*expression.parts[1], scope);
  }
  return Calculate(op, left, Evaluate(*expression.parts[1], scope), budget_);
}

Value Evaluator::EvaluateCompare(const Expression& expression, const Scope& scope) {
  Value left = Evaluate(*expression.parts[0], scope);
  for (size_t i = 0; i < expression.operators.size(); ++i) {
    Value right = Evaluate(*expression.parts[i + 1], scope);
    if (!Compare(expression.operators[i], left, right, budget_)) return false;
    left = std::move(right);
  }
  return true;
}

Value Evaluator::EvaluateConcat(const Expression& expression, const Scope& scope) {
  std::string text;
  for (const auto& part : expression.parts) text += Printed(Evaluate(*part, scope), budget_);
  return Value(std::move(text));
}

Value Evaluator::EvaluateCondition(const Expression& expression, const Scope& scope) {
  const bool holds = Truth(Evaluate(*expression.parts[1], scope));
  if (holds) return Evaluate(*expression.parts[0], scope);
  if (expression.parts[2] != nullptr) return Evaluate(*expression.parts[2], scope);
  return UndefinedValue("a condition without an else part did not hold");
}

}  // namespace affine::jinja
