// The fields that say how an answer is made, whatever it follows.
#pragma once

#include "server/api/http/completion_codec.h"
#include "server/api/http/json_fields.h"

namespace affine {

/// Reads what the bodies of completions and of chats have in common: all but the prompt, its echo,
/// the number of tokens and what of log-probabilities each names in its own way.
void ReadAnswerFields(JsonFields& fields, CompletionBody& body);

}  // namespace affine
