// The tests of templates: what may stand behind `is`.
#pragma once

#include <string_view>

#include "model/jinja/arguments.h"
#include "model/jinja/value.h"
#include "model/jinja/work_budget.h"

namespace affine::jinja {

bool IsValueTest(std::string_view name);

/// `subject is name(arguments)`. Throws TemplateError, for a name that is no test's too.
bool ApplyTest(std::string_view name, const Value& subject, const Arguments& arguments,
               WorkBudget& budget);

}  // namespace affine::jinja
