#include "server/api/http/json_text.h"

#include <optional>

#include "model/utf8.h"

namespace affine {

namespace {

using nlohmann::json;

constexpr std::string_view kNotJson = "the body is not valid JSON";

RequestError NotJson(const std::string& why) {
  return {ErrorCause::kBadInput, std::string(kNotJson) + ": " + why, ""};
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
      const std::string allowed = "; it must be a JSON object";
      return RequestError{.cause = ErrorCause::kBadInput,
                          .message = "the body is " + JsonExcerpt(value) + allowed,
                          .log_message = "the body is " + JsonKind(value) + allowed};
    }
    return value;
  } catch (const json::exception& error) {
    RequestError refused = NotJson(ReasonOf(error));  // it repeats what the parser read last
    refused.log_message = kNotJson;
    if (const auto* place = dynamic_cast<const json::parse_error*>(&error)) {
      refused.log_message += ": it breaks at byte " + std::to_string(place->byte) + " of " +
                             std::to_string(text.size());
    }
    return refused;
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

std::string JsonKind(const json& value) {
  const std::string size =
      std::to_string(value.is_string() ? value.get_ref<const std::string&>().size() : value.size());
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::boolean:
      return "a boolean";
    case json::value_t::string:
      return "a string of " + size + " bytes";
    case json::value_t::array:
      return "an array of " + size + " values";
    case json::value_t::object:
      return "an object of " + size + " members";
    default:
      return "a number";
  }
}

}  // namespace affine
