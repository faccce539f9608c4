// What a JSON schema asks for that XGrammar would pass over in silence.
#pragma once

#include <optional>
#include <string>

namespace affine {

/// The first such thing, with its place as a JSON pointer; nothing if an output that XGrammar
/// allows is one that the schema allows. What is no schema at all is XGrammar's to say, but text
/// that is no JSON is named here. `schema` is nested at most as deep as FormLimits allow.
std::optional<std::string> WhatIsNotKeptTo(const std::string& schema);

}  // namespace affine
