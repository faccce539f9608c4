#include "model/jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "model/jinja/loop.h"
#include "model/jinja/methods.h"
#include "model/jinja/printed.h"
#include "model/jinja/unicode_text.h"

namespace affine::jinja {
namespace {

[[noreturn]] void RefuseOverflow() { throw TemplateError("a whole number is beyond 64 bits"); }

[[noreturn]] void RefuseKinds(const Value& left, const Value& right) {
  RequireDefined(left);
  RequireDefined(right);
  throw TemplateError(std::string("the operator is not supported between a ") + TypeName(left) +
                      " and a " + TypeName(right));
}

Value PowerOf(int64_t base, int64_t exponent) {
  if (exponent < 0) return std::pow(static_cast<double>(base), static_cast<double>(exponent));
  if (base == 0 || base == 1 || exponent == 0) return exponent == 0 ? int64_t{1} : base;
  if (base == -1) return int64_t{exponent % 2 == 0 ? 1 : -1};
  int64_t power = 1;
  for (; exponent > 0; --exponent) {  // overflows before the 64th turn
    if (__builtin_mul_overflow(power, base, &power)) RefuseOverflow();
  }
  return power;
}

Value CalculateIntegers(Operator op, int64_t left, int64_t right) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case Operator::kAdd:
      overflow = __builtin_add_overflow(left, right, &result);
      break;
    case Operator::kSubtract:
      overflow = __builtin_sub_overflow(left, right, &result);
      break;
    case Operator::kMultiply:
      overflow = __builtin_mul_overflow(left, right, &result);
      break;
    case Operator::kPower:
      return PowerOf(left, right);
    default: {
      if (right == 0) throw TemplateError("division by zero");
      if (op == Operator::kDivide) return static_cast<double>(left) / static_cast<double>(right);
      if (right == -1) return Signed(Operator::kNegative, op == Operator::kModulo ? 0 : left);
      int64_t quotient = left / right;
      int64_t rest = left % right;
      if (rest != 0 && (rest < 0) != (right < 0)) {  // Python rounds down
        --quotient;
        rest += right;
      }
      return op == Operator::kModulo ? rest : quotient;
    }
  }
  if (overflow) RefuseOverflow();
  return result;
}

Value CalculateNumbers(Operator op, double left, double right) {
  switch (op) {
    case Operator::kAdd:
      return left + right;
    case Operator::kSubtract:
      return left - right;
    case Operator::kMultiply:
      return left * right;
    case Operator::kPower:
      return std::pow(left, right);
    default:
      break;
  }
  if (right == 0) throw TemplateError("division by zero");
  if (op == Operator::kDivide) return left / right;
  double rest = std::fmod(left, right);
  if (rest != 0 && (rest < 0) != (right < 0)) rest += right;
  return op == Operator::kModulo ? rest : std::floor((left - rest) / right + 0.5);
}

// `count` times what `left` holds.
Value Repeated(const Value& left, int64_t count, WorkBudget& budget) {
  const auto times = static_cast<size_t>(std::max<int64_t>(count, 0));
  const size_t size = left.IsString() ? left.string().size() : left.list().items.size();
  size_t total = 0;
  if (__builtin_mul_overflow(size, times, &total)) total = SIZE_MAX;
  budget.Bytes(total);
  budget.Steps(static_cast<int64_t>(std::min<size_t>(total, INT64_MAX)) / 64);
  if (left.IsString()) {
    std::string text;
    text.reserve(total);
    for (size_t i = 0; size > 0 && i < times; ++i) text += left.string();
    return Value(std::move(text));
  }
  budget.Steps(static_cast<int64_t>(total));
  std::vector<Value> items;
  for (size_t i = 0; size > 0 && i < times; ++i) {
    items.insert(items.end(), left.list().items.begin(), left.list().items.end());
  }
  return MakeList(std::move(items), budget, left.list().shape);
}

bool IsRow(const Value& value) {
  return value.IsList() &&
         (value.list().shape == List::Shape::kList || value.list().shape == List::Shape::kTuple);
}

std::string AbsentHint(const Value& object, std::string_view name) {
  const std::string kind = object.IsNone() ? "None" : std::string(TypeName(object)) + " object";
  return "'" + kind + "' has no attribute '" + std::string(name) + "'";
}

Value LoopAttribute(const Loop& loop, std::string_view name) {
  const std::vector<Value>& items = loop.items->items;
  const auto index = static_cast<int64_t>(loop.index);
  const auto length = static_cast<int64_t>(items.size());
  if (name == "index") return index + 1;
  if (name == "index0") return index;
  if (name == "revindex") return length - index;
  if (name == "revindex0") return length - index - 1;
  if (name == "first") return index == 0;
  if (name == "last") return index + 1 == length;
  if (name == "length") return length;
  if (name == "depth") return 1;
  if (name == "depth0") return 0;
  if (name == "previtem" && index > 0) return items[loop.index - 1];
  if (name == "nextitem" && index + 1 < length) return items[loop.index + 1];
  return UndefinedValue("'loop' has no attribute '" + std::string(name) + "' here");
}

Value ElementOf(const Value& object, int64_t index, WorkBudget& budget) {
  if (object.IsString()) {
    const std::string_view text = object.string();
    budget.Steps(static_cast<int64_t>(text.size() / 64));
    const int64_t length = CodePoints(text);
    if (index < 0) index += length;
    if (index >= 0 && index < length) {
      const size_t at = ByteOffset(text, index);
      return Value(text.substr(at, FirstCodePoint(text.substr(at)).second));
    }
  } else if (object.IsList() && object.list().shape != List::Shape::kGenerator) {
    const std::vector<Value>& items = object.list().items;
    if (index < 0) index += static_cast<int64_t>(items.size());
    if (index >= 0 && static_cast<size_t>(index) < items.size()) {
      return items[static_cast<size_t>(index)];
    }
  }
  return UndefinedValue("'" + std::string(TypeName(object)) + " object' has no element " +
                        std::to_string(index));
}

// The indices that a slice takes of `length`, as Python's slice.indices.
std::vector<int64_t> SliceIndices(int64_t length, std::optional<int64_t> start,
                                  std::optional<int64_t> stop, int64_t step) {
  const auto clipped = [length, step](int64_t at) {
    if (at < 0) at = at < -length ? -1 : at + length;
    const int64_t low = step > 0 ? 0 : -1;
    const int64_t high = step > 0 ? length : length - 1;
    return std::min(std::max(at, low), high);
  };
  const int64_t first = start ? clipped(*start) : step > 0 ? 0 : length - 1;
  const int64_t end = stop ? clipped(*stop) : step > 0 ? length : -1;
  std::vector<int64_t> indices;
  if (step > 0) {
    for (int64_t i = first; i < end; i += std::min(step, length)) indices.push_back(i);
  } else {
    for (int64_t i = first; i > end; i += std::max(step, -length)) indices.push_back(i);
  }
  return indices;
}

}  // namespace

Value Calculate(Operator op, const Value& left, const Value& right, WorkBudget& budget) {
  if (const auto x = IntegerOf(left), y = IntegerOf(right); x && y) {
    return CalculateIntegers(op, *x, *y);
  }
  if (const auto x = NumberOf(left), y = NumberOf(right); x && y) {
    return CalculateNumbers(op, *x, *y);
  }
  if (op == Operator::kAdd && left.IsString() && right.IsString()) {
    return MakeText(left.string() + right.string(), budget);
  }
  if (op == Operator::kAdd && IsRow(left) && IsRow(right) &&
      left.list().shape == right.list().shape) {
    budget.Bytes((left.list().items.size() + right.list().items.size()) * sizeof(Value));
    std::vector<Value> items = left.list().items;
    items.insert(items.end(), right.list().items.begin(), right.list().items.end());
    return MakeList(std::move(items), budget, left.list().shape);
  }
  if (op == Operator::kMultiply) {
    if (const auto count = IntegerOf(right); count && (left.IsString() || IsRow(left))) {
      return Repeated(left, *count, budget);
    }
    if (const auto count = IntegerOf(left); count && (right.IsString() || IsRow(right))) {
      return Repeated(right, *count, budget);
    }
  }
  RefuseKinds(left, right);
}

Value Signed(Operator op, const Value& operand) {
  if (const auto integer = IntegerOf(operand)) {
    int64_t result = *integer;
    if (op == Operator::kNegative && __builtin_sub_overflow(int64_t{0}, *integer, &result)) {
      RefuseOverflow();
    }
    return result;
  }
  if (const auto number = NumberOf(operand)) return op == Operator::kNegative ? -*number : *number;
  RequireDefined(operand);
  throw TemplateError(std::string("a ") + TypeName(operand) + " has no sign");
}

bool Compare(Operator op, const Value& left, const Value& right, WorkBudget& budget) {
  switch (op) {
    case Operator::kEqual:
      return Equal(left, right, budget);
    case Operator::kNotEqual:
      return !Equal(left, right, budget);
    case Operator::kLess:
      return Less(left, right, budget);
    case Operator::kGreater:
      return Less(right, left, budget);
    case Operator::kLessEqual:
      return Less(left, right, budget) || Equal(left, right, budget);
    case Operator::kGreaterEqual:
      return Less(right, left, budget) || Equal(left, right, budget);
    case Operator::kNotIn:
      return !Contains(right, left, budget);
    default:
      return Contains(right, left, budget);
  }
}

bool Contains(const Value& container, const Value& item, WorkBudget& budget) {
  if (container.IsString()) {
    if (!item.IsString()) RefuseKinds(item, container);
    budget.Steps(static_cast<int64_t>(container.string().size() / 64));
    return FindText(container.string(), item.string()) != std::string_view::npos;
  }
  if (container.IsDict()) return FindKey(container.dict(), item, budget) != nullptr;
  const ListPtr all = Iterate(container, budget);
  for (const Value& known : all->items) {
    if (Equal(known, item, budget)) return true;
  }
  return false;
}

Value ItemOf(const Value& object, const Value& key, WorkBudget& budget) {
  RequireDefined(object);
  if (object.IsDict()) {
    if (const Value* found = FindKey(object.dict(), key, budget)) return *found;
  } else if (const auto index = IntegerOf(key)) {
    return ElementOf(object, *index, budget);
  }
  if (!key.IsString()) return UndefinedValue(AbsentHint(object, Printed(key, budget)));
  const std::string& name = key.string();
  if (const auto* space = object.As<std::shared_ptr<Namespace>>()) {
    const auto found = (*space)->members.find(name);
    if (found != (*space)->members.end()) return found->second;
  }
  if (const auto* loop = object.As<std::shared_ptr<const Loop>>(); loop && name != "cycle") {
    return LoopAttribute(**loop, name);
  }
  if (IsMethod(object, name)) return Value::Method{};
  return UndefinedValue(AbsentHint(object, name));
}

Value AttributeOf(const Value& object, std::string_view name, WorkBudget& budget) {
  RequireDefined(object);
  if (object.IsDict() && IsMethod(object, name)) return Value::Method{};
  return ItemOf(object, Value(name), budget);
}

Value SliceOf(const Value& object, std::optional<int64_t> start, std::optional<int64_t> stop,
              std::optional<int64_t> step, WorkBudget& budget) {
  RequireDefined(object);
  if (step == 0) throw TemplateError("a slice's step is 0");
  if (!object.IsString() && !object.IsList()) {
    throw TemplateError(std::string("a ") + TypeName(object) + " has no slices");
  }
  const int64_t length = LengthOf(object);
  budget.Steps(length);
  const std::vector<int64_t> indices = SliceIndices(length, start, stop, step.value_or(1));
  if (object.IsString()) {
    budget.Bytes(static_cast<size_t>(length) * sizeof(std::string_view));
    const std::vector<std::string_view> characters = Characters(object.string());
    std::string text;
    for (const int64_t i : indices) text += characters[static_cast<size_t>(i)];
    return MakeText(std::move(text), budget);
  }
  std::vector<Value> items;
  for (const int64_t i : indices) items.push_back(object.list().items[static_cast<size_t>(i)]);
  return MakeList(std::move(items), budget, object.list().shape);
}

}  // namespace affine::jinja
