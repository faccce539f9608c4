#include "server/api/http/json_text.h"

#include <optional>

#include "model/utf8.h"

namespace affine {

namespace {

using nlohmann::json;

RequestError NotJson(const std::string& why) {
  return {ErrorCause::kBadInput, "the body is not valid JSON: " + why, ""};
}

std::string Shortened(std::string_view text, size_t limit) {
  if (text.size() <= limit) return ReplaceInvalidUtf8(text);
  text = text.substr(0, limit);
  text.remove_suffix(IncompleteUtf8Suffix(text));
  return ReplaceInvalidUtf8(text) + "...";
}

// Counts brackets and commas outside of strings. Text that is not JSON may be miscounted; the
// parser then says what is wrong with it.
std::optional<RequestError> CheckSize(std::string_view text) {
  int depth = 0;
  int64_t values = 1;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == ']' || c == '}') --depth;
    if (c == ',' || c == '[' || c == '{') ++values;
    if ((c == '[' || c == '{') && ++depth > kMaxJsonDepth) {
      return NotJson("nested deeper than " + std::to_string(kMaxJsonDepth) + " levels at byte " +
                     std::to_string(i));
    }
  }
  if (values <= kMaxJsonValues) return std::nullopt;
  return NotJson("it has " + std::to_string(values) + " values; at most " +
                 std::to_string(kMaxJsonValues) + " are taken");
}

// "[json.exception.parse_error.101] parse error at line 1, column 9: ..." without its number.
std::string ReasonOf(const json::exception& error) {
  std::string_view reason = error.what();
  const size_t bracket = reason.find("] ");
  if (bracket != std::string_view::npos) reason.remove_prefix(bracket + 2);
  return Shortened(reason, 300);
}

}  // namespace

std::variant<json, RequestError> ParseJsonObject(std::string_view text) {
  if (auto error = CheckSize(text)) return *std::move(error);
  try {
    json value = json::parse(text);
    if (!value.is_object()) {
      return RequestError{ErrorCause::kBadInput,
                          "the body is " + JsonExcerpt(value) + "; it must be a JSON object", ""};
    }
    return value;
  } catch (const json::exception& error) {
    return NotJson(ReasonOf(error));
  }
}

std::string JsonText(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string JsonExcerpt(const json& value, size_t limit) {
  if (value.is_string()) {
    // Only the part that is shown is escaped: a prompt may be megabytes.
    const std::string& text = value.get_ref<const std::string&>();
    return json(Shortened(text, limit)).dump(-1, ' ', false, json::error_handler_t::replace);
  }
  if (value.is_array() && value.size() > 8) {
    return "an array of " + std::to_string(value.size()) + " values";
  }
  if (value.is_object() && value.size() > 8) {
    return "an object of " + std::to_string(value.size()) + " members";
  }
  return Shortened(value.dump(-1, ' ', false, json::error_handler_t::replace), limit);
}

}  // namespace affine
