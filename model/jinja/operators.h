// What Python's operators do with values.
#pragma once

#include <optional>
#include <string_view>

#include "model/jinja/syntax_tree.h"
#include "model/jinja/value.h"
#include "model/jinja/work_budget.h"

namespace affine::jinja {

// All throw TemplateError for kinds that the operator has no meaning for, and for whole numbers
// beyond 64 bits.

/// An arithmetic operator of two operands.
Value Calculate(Operator op, const Value& left, const Value& right, WorkBudget& budget);
/// kNegative or kPositive.
Value Signed(Operator op, const Value& operand);
/// A comparison, kIn and kNotIn included.
bool Compare(Operator op, const Value& left, const Value& right, WorkBudget& budget);
/// `item in container`.
bool Contains(const Value& container, const Value& item, WorkBudget& budget);

/// `object[key]`; undefined where it has none.
Value ItemOf(const Value& object, const Value& key, WorkBudget& budget);
/// `object.name`: a method goes before a dict's item.
Value AttributeOf(const Value& object, std::string_view name, WorkBudget& budget);
/// `object[start:stop:step]`.
Value SliceOf(const Value& object, std::optional<int64_t> start, std::optional<int64_t> stop,
              std::optional<int64_t> step, WorkBudget& budget);

}  // namespace affine::jinja
