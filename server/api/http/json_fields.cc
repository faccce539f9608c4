#include "server/api/http/json_fields.h"

#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "server/api/http/json_text.h"

namespace affine {

using nlohmann::json;

namespace {

constexpr std::string_view kIntegerRange = "an integer from -2^63 to 2^63 - 1";

// The value as a 64-bit integer, if it is one.
std::optional<int64_t> IntegerOf(const json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  // Both bounds are exact as doubles; 2^63 itself does not fit.
  if (std::trunc(number) != number || number < -0x1p63 || number >= 0x1p63) return std::nullopt;
  return static_cast<int64_t>(number);
}

}  // namespace

JsonFields::JsonFields(const json& object, std::string prefix)
    : object_(object), prefix_(std::move(prefix)) {}

const json* JsonFields::Find(std::string_view name) const {
  const auto found = object_.find(name);
  return error_ || found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<int64_t> JsonFields::Integer(std::string_view name) {
  const json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  const auto number = IntegerOf(*value);
  if (!number) Refuse(name, *value, kIntegerRange);
  return number;
}

std::optional<uint64_t> JsonFields::Bits(std::string_view name) {
  const json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_unsigned()) return value->get<uint64_t>();
  const auto number = IntegerOf(*value);
  if (number) return static_cast<uint64_t>(*number);
  Refuse(name, *value, "an integer from -2^63 to 2^64 - 1");
  return std::nullopt;
}

std::optional<double> JsonFields::Number(std::string_view name) {
  const json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return value->get<double>();
  Refuse(name, *value, "a number");
  return std::nullopt;
}

std::optional<bool> JsonFields::Flag(std::string_view name) {
  const json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  Refuse(name, *value, "true or false");
  return std::nullopt;
}

std::optional<std::string> JsonFields::String(std::string_view name) {
  const json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  Refuse(name, *value, "a string");
  return std::nullopt;
}

std::vector<std::string> JsonFields::Strings(std::string_view name) {
  const json* value = Find(name);
  if (value == nullptr) return {};
  if (value->is_string()) return {value->get<std::string>()};
  if (!value->is_array()) {
    Refuse(name, *value, "a string or an array of strings");
    return {};
  }
  std::vector<std::string> strings;
  for (const json& item : *value) {
    if (!item.is_string()) {
      Refuse(std::string(name) + "[" + std::to_string(strings.size()) + "]", item, "a string");
      return {};
    }
    strings.push_back(item.get<std::string>());
  }
  return strings;
}

std::vector<int64_t> JsonFields::Integers(std::string_view name) {
  const json* value = Find(name);
  if (value == nullptr) return {};
  if (value->is_array()) return IntegersOf(*value, std::string(name));
  Refuse(name, *value, "an array of integers");
  return {};
}

std::vector<int64_t> JsonFields::IntegersOf(const json& array, const std::string& name) {
  std::vector<int64_t> integers;
  integers.reserve(array.size());
  for (const json& item : array) {
    const auto number = IntegerOf(item);
    if (!number) {
      Refuse(name + "[" + std::to_string(integers.size()) + "]", item, kIntegerRange);
      return {};
    }
    integers.push_back(*number);
  }
  return integers;
}

std::vector<std::pair<int64_t, double>> JsonFields::NumbersById(std::string_view name) {
  const json* value = Find(name);
  if (value == nullptr) return {};
  if (!value->is_object()) {
    Refuse(name, *value, "an object from token ids to numbers");
    return {};
  }
  std::vector<std::pair<int64_t, double>> numbers;
  for (const auto& [key, number] : value->items()) {
    int64_t id = 0;
    const char* end = key.data() + key.size();
    const auto read = std::from_chars(key.data(), end, id);
    // Just one way to write an id, so that none comes twice.
    if (read.ec != std::errc() || read.ptr != end || key != std::to_string(id)) {
      Refuse(std::string(name) + "[key " + std::to_string(numbers.size()) + "]", key,
             "a token id in quotation marks");
      return {};
    }
    if (!number.is_number()) {
      Refuse(std::string(name) + "[" + key + "]", number, "a number");
      return {};
    }
    numbers.emplace_back(id, number.get<double>());
  }
  return numbers;
}

void JsonFields::Refuse(std::string_view name, const json& value, std::string_view allowed) {
  const std::string subject = "`" + prefix_ + std::string(name) + "` is ";
  const std::string limit = "; it must be " + std::string(allowed);
  Fail(name, subject + JsonExcerpt(value) + limit, subject + JsonKind(value) + limit);
}

void JsonFields::Fail(std::string_view name, std::string message, std::string log_message) {
  if (error_) return;
  // `param` is the field alone: prompt, for prompt[3].
  error_ = RequestError{.cause = ErrorCause::kBadInput,
                        .message = std::move(message),
                        .param = prefix_ + std::string(name.substr(0, name.find('['))),
                        .log_message = std::move(log_message)};
}

}  // namespace affine
