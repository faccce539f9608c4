// Methods of strings.
#pragma once

#include <string_view>

#include "model/jinja/arguments.h"
#include "model/jinja/value.h"
#include "model/jinja/work_budget.h"

namespace affine::jinja {

bool IsTextMethod(std::string_view name);

/// text.name(arguments), of which IsTextMethod holds. Throws TemplateError.
Value CallTextMethod(std::string_view text, std::string_view name, const Arguments& arguments,
                     WorkBudget& budget);

/// `text` with the first `count` occurrences of `old` replaced, from the left; -1: all.
Value Replaced(std::string_view text, std::string_view old, std::string_view by, int64_t count,
               WorkBudget& budget);

}  // namespace affine::jinja
