// The description of the HTTP API, as openapi.json has it.
#pragma once

#include <string_view>

namespace affine {

/// OpenAPI 3.1, with an empty `info.version`.
std::string_view OpenApiDocument();

}  // namespace affine
