// A value as text: Python's str, repr and json.dumps.
#pragma once

#include <optional>
#include <string>

#include "model/jinja/value.h"
#include "model/jinja/work_budget.h"

namespace affine::jinja {

// All charge for what they make, and throw for what has no such text.

/// str(value); an undefined value gives nothing.
std::string Printed(const Value& value, WorkBudget& budget);
/// repr(value).
std::string Repr(const Value& value, WorkBudget& budget);
/// repr of a float: the shortest digits that read back as the same number.
std::string PrintedNumber(double number);

struct JsonStyle {
  bool ascii = false;               // what is not ASCII as \uXXXX
  std::optional<int64_t> indent{};  // spaces a level; none: all on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};

/// json.dumps(value) in `style`.
std::string Json(const Value& value, const JsonStyle& style, WorkBudget& budget);

}  // namespace affine::jinja
