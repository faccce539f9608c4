// Methods of strings, dicts, lists and loops. None changes what it is called on.
#pragma once

#include <string_view>

#include "model/jinja/arguments.h"
#include "model/jinja/value.h"
#include "model/jinja/work_budget.h"

namespace affine::jinja {

/// True if `object` has a method `name` here.
bool IsMethod(const Value& object, std::string_view name);

/// object.name(arguments), of which IsMethod holds. Throws TemplateError.
Value CallMethod(const Value& object, std::string_view name, const Arguments& arguments,
                 WorkBudget& budget);

}  // namespace affine::jinja
