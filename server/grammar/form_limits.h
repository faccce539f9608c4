// What of a form can be refused before anything is compiled.
#pragma once

#include <cstddef>
#include <optional>

#include "server/request/request_error.h"
#include "server/request/structured_output.h"

namespace affine {

struct FormLimits {
  size_t max_bytes = 64 << 10;  // of schema, regex, grammar, or all choices
  size_t max_choices = 4096;
  int max_depth = 64;  // of brackets in schema, regex or grammar
};

/// kBadInput that names field, value and limit; nothing if the form is within the limits.
std::optional<RequestError> CheckForm(const StructuredOutput& form, const FormLimits& limits);

}  // namespace affine
