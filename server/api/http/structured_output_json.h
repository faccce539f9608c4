// The form of the output in a body's JSON, under vLLM's names and OpenAI's.
#pragma once

#include <optional>
#include <string_view>

#include "server/api/http/json_fields.h"
#include "server/request/structured_output.h"

namespace affine {

/// Of `structured_outputs`, `guided_json`, `guided_regex`, `guided_choice`, `guided_grammar` and
/// `response_format`, of which one may be given. A schema may be an object or its text; an object's
/// members are in no certain order then, see KeepSchemaOrder.
std::optional<StructuredOutput> ReadStructuredOutput(JsonFields& fields);

/// Puts the members of a schema, which was read as above from the JSON object `body`, into the
/// order in which they stand there: it is the order in which properties are written.
void KeepSchemaOrder(std::string_view body, StructuredOutput& form);

}  // namespace affine
