#include "server/grammar/xgrammar/schema_keywords.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

namespace affine {
namespace {

using nlohmann::json;
using Found = std::optional<std::string>;

/// Of these XGrammar looks at the first that is there, and at nothing beside it.
constexpr std::array kWhole = {"$ref", "const", "enum", "anyOf", "oneOf", "allOf"};

constexpr std::array kUnknown = {
    "not",          "if",           "then",        "else",        "dependentRequired",
    "dependencies", "contains",     "minContains", "maxContains", "dependentSchemas",
    "$dynamicRef",  "$recursiveRef"};

/// They say nothing about a value, or are looked at where they are.
constexpr std::array kSilent = {"title",      "description",   "default",     "examples",
                                "deprecated", "readOnly",      "writeOnly",   "$comment",
                                "$schema",    "$id",           "$defs",       "definitions",
                                "$anchor",    "discriminator", "$vocabulary", "format"};

/// They restrict values of one type alone, which XGrammar wants to be told.
constexpr std::array kOfOneType = {
    "pattern",    "minLength",        "maxLength",        "minimum",           "maximum",
    "multipleOf", "exclusiveMinimum", "exclusiveMaximum", "minItems",          "maxItems",
    "required",   "minProperties",    "maxProperties",    "patternProperties", "propertyNames"};

constexpr std::array kHoldSchemas = {"properties", "patternProperties", "$defs", "definitions"};
constexpr std::array kListSchemas = {"anyOf", "oneOf", "allOf", "prefixItems"};
constexpr std::array kAreSchemas = {
    "items",         "additionalProperties", "unevaluatedItems", "unevaluatedProperties",
    "propertyNames", "additionalItems"};

template <typename Names>
bool IsOneOf(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool IsOfType(const json& value, const std::string& type) {
  if (type == "integer") {
    return value.is_number_integer() ||
           (value.is_number() && value.get<double>() == static_cast<double>(value.get<int64_t>()));
  }
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "array") return value.is_array();
  return type == "object" && value.is_object();
}

/// `type` beside `values`, each of which is of it.
bool TypeHolds(const json& type, const json& values) {
  return std::ranges::all_of(values, [&](const json& value) {
    if (type.is_string()) return IsOfType(value, type.get<std::string>());
    return type.is_array() && std::ranges::any_of(type, [&](const json& one) {
             return one.is_string() && IsOfType(value, one.get<std::string>());
           });
  });
}

std::string At(const std::string& place) { return place.empty() ? "" : " at " + place; }

Found BesideWhole(const json& schema, const std::string& place) {
  const auto* whole =
      std::ranges::find_if(kWhole, [&](const char* name) { return schema.contains(name); });
  if (whole == kWhole.end()) return std::nullopt;
  for (const auto& [name, value] : schema.items()) {
    if (name == *whole || IsOneOf(kSilent, name)) continue;
    const std::string_view by = *whole;
    if (name == "type" && by == "enum" && TypeHolds(value, schema["enum"])) continue;
    if (name == "type" && by == "const" && TypeHolds(value, json::array({schema["const"]}))) {
      continue;
    }
    return "`" + name + "` beside `" + *whole + "`" + At(place) +
           " is not supported; put both into one";
  }
  return std::nullopt;
}

Found OwnKeywords(const json& schema, const std::string& place) {
  for (const auto& [name, value] : schema.items()) {
    if (IsOneOf(kUnknown, name) || (name == "uniqueItems" && value != false)) {
      return "the keyword `" + name + "`" + At(place) + " is not supported; leave it out";
    }
    if (IsOneOf(kOfOneType, name) && !schema.contains("type") && !schema.contains("properties") &&
        !schema.contains("items")) {
      return "`" + name + "` without `type`" + At(place) + " is not supported; say the type";
    }
  }
  for (const char* name : {"patternProperties", "propertyNames"}) {
    if (!schema.contains(name) || !schema.contains("properties")) continue;
    return std::string("`") + name + "` beside `properties`" + At(place) + " is not supported";
  }
  return BesideWhole(schema, place);
}

Found Walk(const json& schema, const std::string& place) {
  if (!schema.is_object()) return std::nullopt;
  if (Found found = OwnKeywords(schema, place)) return found;
  for (const auto& [name, value] : schema.items()) {
    const std::string below = place + "/" + name;
    if (IsOneOf(kAreSchemas, name)) {
      if (Found found = Walk(value, below)) return found;
    } else if ((IsOneOf(kHoldSchemas, name) && value.is_object()) ||
               (IsOneOf(kListSchemas, name) && value.is_array())) {
      for (const auto& [key, inner] : value.items()) {
        if (Found found = Walk(inner, below + "/" + key)) return found;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Found WhatIsNotKeptTo(const std::string& schema) {
  const json parsed = json::parse(schema, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return "it is not valid JSON";
  if (!parsed.is_object()) return "it must be a JSON object";
  return Walk(parsed, "");
}

}  // namespace affine
