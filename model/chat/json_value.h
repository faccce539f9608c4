// JSON as values that a template sees.
#pragma once

#include <nlohmann/json.hpp>

#include "model/jinja/value.h"
#include "model/jinja/work_budget.h"

namespace affine {

/// Objects keep the order of their members. Throws jinja::TemplateError for what is nested too deep
/// and for whole numbers beyond 64 bits.
jinja::Value ValueOf(const nlohmann::ordered_json& json, jinja::WorkBudget& budget);

}  // namespace affine
