// The filters of templates.
#pragma once

#include <string_view>

#include "model/jinja/arguments.h"
#include "model/jinja/value.h"
#include "model/jinja/work_budget.h"

namespace affine::jinja {

bool IsFilter(std::string_view name);

/// `subject | name(arguments)`, of which IsFilter holds. Throws TemplateError.
Value ApplyFilter(std::string_view name, const Value& subject, const Arguments& arguments,
                  WorkBudget& budget);

}  // namespace affine::jinja
