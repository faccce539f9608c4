#include "model/chat/json_value.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace affine {
namespace {

using jinja::Value;

Value ListOf(const nlohmann::ordered_json& json, jinja::WorkBudget& budget) {
  std::vector<Value> items;
  for (const auto& item : json) items.push_back(ValueOf(item, budget));
  return jinja::MakeList(std::move(items), budget);
}

Value DictOf(const nlohmann::ordered_json& json, jinja::WorkBudget& budget) {
  std::vector<std::pair<Value, Value>> items;
  for (const auto& [key, value] : json.items()) {
    items.emplace_back(jinja::MakeText(key, budget), ValueOf(value, budget));
  }
  return jinja::MakeDict(std::move(items), budget);
}

}  // namespace

Value ValueOf(const nlohmann::ordered_json& json, jinja::WorkBudget& budget) {
  if (json.is_string()) return jinja::MakeText(json.get<std::string>(), budget);
  if (json.is_array()) return ListOf(json, budget);
  if (json.is_object()) return DictOf(json, budget);
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX) {
    throw jinja::TemplateError("a whole number is beyond 64 bits");
  }
  if (json.is_number()) return json.get<int64_t>();
  return Value();
}

}  // namespace affine
