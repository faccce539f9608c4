// Fields of OpenAI's and vLLM's bodies that change an answer and are not there yet.
#pragma once

#include "server/api/http/json_fields.h"

namespace affine {

enum class Endpoint { kCompletions, kChat };

/// Fails `fields` on the first of them that is given with anything but its neutral value: ignoring
/// it would give an answer that was not asked for.
void RefuseUnsupportedFields(JsonFields& fields, Endpoint endpoint);

}  // namespace affine
