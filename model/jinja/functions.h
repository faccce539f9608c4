// The functions that every template can call.
#pragma once

#include <ctime>

#include "model/jinja/arguments.h"
#include "model/jinja/scope.h"
#include "model/jinja/value.h"
#include "model/jinja/work_budget.h"

namespace affine::jinja {

/// Their names.
Scope FunctionScope();

/// Throws TemplateError, and RaisedByTemplate for raise_exception.
Value CallFunction(Value::Function function, const Arguments& arguments, const std::tm& now,
                   WorkBudget& budget);

}  // namespace affine::jinja
