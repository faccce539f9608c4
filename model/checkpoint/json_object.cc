#include "model/checkpoint/json_object.h"

#include <cmath>
#include <set>
#include <sstream>
#include <utility>

#include "model/checkpoint/mapped_file.h"
#include "model/checkpoint/problem_list.h"
#include "model/model_error.h"
#include "model/quoted.h"

namespace affine {
namespace {

constexpr int kMaxDepth = 32;

/// A value for a message; lists and objects are named rather than shown.
std::string ValueText(const nlohmann::json& value) {
  if (value.is_string()) return Quoted(value.get_ref<const std::string&>());
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list of " + std::to_string(value.size());
  return value.dump();
}

std::string NumberText(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

std::string Span(const std::string& what, const std::string& least, const std::string& most) {
  return "Allowed is " + what + " from " + least + " to " + most + ".";
}

bool InRange(const nlohmann::json& value, int32_t least, int32_t most) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    return number <= INT32_MAX && static_cast<int64_t>(number) >= least &&
           static_cast<int64_t>(number) <= most;
  }
  if (!value.is_number_integer()) return false;
  const auto number = value.get<int64_t>();
  return number >= least && number <= most;
}

/// Watches a parse for depth and for fields that come twice.
class ParseGuard {
 public:
  explicit ParseGuard(const std::string& path) : path_(path) {}

  bool operator()(int depth, nlohmann::json::parse_event_t event, const nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= kMaxDepth) {
        throw ModelError(path_ + " is nested deeper than " + std::to_string(kMaxDepth) +
                         " levels. Replace it by the model's original.");
      }
      if (event == Event::object_start) fields_.emplace_back();
    } else if (event == Event::object_end) {
      fields_.pop_back();
    } else if (event == Event::key) {
      const auto& name = value.get_ref<const std::string&>();
      if (!fields_.back().insert(name).second) {
        throw ModelError(path_ + " has the field " + Quoted(name) +
                         " twice. Keep the one that is meant.");
      }
    }
    return true;
  }

 private:
  std::string path_;
  std::vector<std::set<std::string>> fields_;  // names seen in each object that is open
};

}  // namespace

JsonObject::JsonObject(const nlohmann::json& object, std::string place)
    : object_(&object), place_(std::move(place)) {}

const nlohmann::json* JsonObject::Find(const char* name) const {
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

void JsonObject::Refuse(const char* name, const std::string& allowed) const {
  const nlohmann::json* value = Find(name);
  throw ModelError(place_ + ": " + name + " is " + (value ? ValueText(*value) : "absent") + ". " +
                   allowed + " Correct the file, or convert the checkpoint again.");
}

void JsonObject::RefuseAbsent(const char* name) const { Refuse(name, "It is required."); }

int32_t JsonObject::Int(const char* name, int32_t least, int32_t most) const {
  const nlohmann::json* value = Find(name);
  const std::string allowed = Span("a whole number", std::to_string(least), std::to_string(most));
  if (!value || !InRange(*value, least, most)) Refuse(name, allowed);
  return value->get<int32_t>();
}

int32_t JsonObject::Int(const char* name, int32_t least, int32_t most, int32_t absent) const {
  return Has(name) ? Int(name, least, most) : absent;
}

double JsonObject::Number(const char* name, double least, double most) const {
  const nlohmann::json* value = Find(name);
  const std::string allowed = Span("a number", NumberText(least), NumberText(most));
  if (!value || !value->is_number()) Refuse(name, allowed);
  const auto number = value->get<double>();
  if (!std::isfinite(number) || number < least || number > most) Refuse(name, allowed);
  return number;
}

double JsonObject::Number(const char* name, double least, double most, double absent) const {
  return Has(name) ? Number(name, least, most) : absent;
}

bool JsonObject::Bool(const char* name, bool absent) const {
  const nlohmann::json* value = Find(name);
  if (!value) return absent;
  if (!value->is_boolean()) Refuse(name, "Allowed is true or false.");
  return value->get<bool>();
}

std::optional<size_t> JsonObject::Choice(const char* name,
                                         std::initializer_list<const char*> allowed) const {
  const nlohmann::json* value = Find(name);
  if (!value) return std::nullopt;
  std::string names;
  size_t index = 0;
  for (const char* choice : allowed) {
    if (value->is_string() && value->get_ref<const std::string&>() == choice) return index;
    names += (index++ > 0 ? ", " : "") + Quoted(choice);
  }
  Refuse(name, "Allowed is " + std::string(allowed.size() > 1 ? "one of " : "") + names + ".");
}

std::vector<int32_t> JsonObject::Ints(const char* name, int32_t least, int32_t most) const {
  const nlohmann::json* value = Find(name);
  if (!value) return {};
  const std::string allowed =
      Span("a whole number, or a list of them, each", std::to_string(least), std::to_string(most));
  std::vector<int32_t> numbers;
  if (!value->is_array()) {
    if (!InRange(*value, least, most)) Refuse(name, allowed);
    return {value->get<int32_t>()};
  }
  for (const nlohmann::json& element : *value) {
    if (!InRange(element, least, most)) Refuse(name, allowed);
    numbers.push_back(element.get<int32_t>());
  }
  return numbers;
}

std::vector<std::string> JsonObject::Texts(const char* name) const {
  const nlohmann::json* value = Find(name);
  if (!value) return {};
  std::vector<std::string> texts;
  if (!value->is_array()) Refuse(name, "Allowed is a list of texts.");
  for (const nlohmann::json& element : *value) {
    if (!element.is_string()) Refuse(name, "Allowed is a list of texts.");
    texts.push_back(element.get<std::string>());
  }
  return texts;
}

std::optional<JsonObject> JsonObject::Object(const char* name) const {
  const nlohmann::json* value = Find(name);
  if (!value) return std::nullopt;
  if (!value->is_object()) Refuse(name, "Allowed is an object or null.");
  return JsonObject(*value, place_ + ": " + name);
}

void JsonObject::RequireOnly(std::initializer_list<const char*> allowed) const {
  std::string names;
  for (const char* name : allowed) names += (names.empty() ? "" : ", ") + std::string(name);
  for (const auto& [name, value] : object_->items()) {
    bool known = false;
    for (const char* candidate : allowed) known = known || name == candidate;
    if (known) continue;
    throw ModelError(place_ + " has the unknown field " + Quoted(name) + ". Allowed are " + names +
                     ". Remove the field, or serve the model with a release that knows it.");
  }
}

nlohmann::json ReadJsonFile(const std::string& path, size_t max_bytes) {
  const MappedFile file(path);
  if (file.bytes().size() > max_bytes) {
    throw ModelError(path + " has " + std::to_string(file.bytes().size()) + " bytes; allowed are " +
                     std::to_string(max_bytes) + ". Replace it by the model's original.");
  }
  const std::string text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  try {
    nlohmann::json document = nlohmann::json::parse(text, ParseGuard(path));
    if (document.is_object()) return document;
  } catch (const nlohmann::json::parse_error& error) {
    throw ModelError(path + " is not valid JSON at byte " + std::to_string(error.byte) +
                     ". Correct the file, or copy the checkpoint again.");
  } catch (const nlohmann::json::exception& error) {
    throw ModelError(path + " holds a number that can't be represented (" +
                     std::to_string(error.id) + "). Correct the file.");
  }
  throw ModelError(path + " holds no JSON object. Copy the checkpoint again.");
}

}  // namespace affine
