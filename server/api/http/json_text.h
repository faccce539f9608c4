// JSON from untrusted text, and back.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "server/request/request_error.h"

namespace affine {

/// Deepest nesting of arrays and objects in a body.
inline constexpr int kMaxJsonDepth = 32;
/// Most values in a body: a parsed value takes many times the memory of its text.
inline constexpr int64_t kMaxJsonValues = 2'000'000;

/// The object that `text` is, or kBadInput with line and column (for the log, with the byte). NaN,
/// Infinity, ill-formed UTF-8 and anything behind the object are errors. Depth and count are
/// checked before anything is built.
std::variant<nlohmann::json, RequestError> ParseJsonObject(std::string_view text);

/// One line. Never throws: ill-formed UTF-8 becomes U+FFFD.
std::string JsonText(const nlohmann::ordered_json& value);

/// `value` as one line of at most about `limit` bytes, for error messages to the caller.
std::string JsonExcerpt(const nlohmann::json& value, size_t limit = 60);

/// The type and size of `value` without anything of what it says: "a string of 12 bytes".
std::string JsonKind(const nlohmann::json& value);

}  // namespace affine
