#include "server/grammar/xgrammar/schema_keywords.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace affine {
namespace {

using testing::HasSubstr;

std::string Wrong(const std::string& schema) { return WhatIsNotKeptTo(schema).value_or(""); }

TEST(SchemaKeywordsTest, OrdinarySchemasAreKeptTo) {
  for (const char* schema : {
           R"({})",
           R"({"type": "object", "properties": {"not": {"type": "string", "minLength": 2}},
               "required": ["not"], "additionalProperties": false, "title": "if"})",
           R"({"$defs": {"a": {"enum": [1, "x"]}}, "$ref": "#/$defs/a", "description": "d"})",
           R"({"type": "string", "enum": ["a", "b"]})",
           R"({"type": ["string", "null"], "enum": ["a", null]})",
           R"({"type": "integer", "const": 3})",
           R"({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null})",
           R"({"type": "array", "items": {"type": "integer"}, "uniqueItems": false})",
           R"({"type": "object", "patternProperties": {"^a": {"type": "integer"}}})",
       }) {
    EXPECT_EQ(Wrong(schema), "") << schema;
  }
}

TEST(SchemaKeywordsTest, UnknownKeywordsAreNamedWithTheirPlace) {
  EXPECT_EQ(Wrong(R"({"type": "string", "not": {"const": "a"}})"),
            "the keyword `not` is not supported; leave it out");
  EXPECT_THAT(Wrong(R"({"properties": {"a": {"type": "array", "uniqueItems": true}}})"),
              HasSubstr("`uniqueItems` at /properties/a "));
  EXPECT_THAT(Wrong(R"({"anyOf": [{}, {"items": {"contains": {}}}]})"),
              HasSubstr("`contains` at /anyOf/1/items "));
  EXPECT_THAT(Wrong(R"({"$defs": {"x": {"if": {}}}})"), HasSubstr("/$defs/x"));
}

TEST(SchemaKeywordsTest, NothingMayStandBesideWhatIsTakenWhole) {
  EXPECT_THAT(Wrong(R"({"anyOf": [{}], "type": "object", "properties": {}})"),
              HasSubstr("beside `anyOf`"));
  EXPECT_THAT(Wrong(R"({"$ref": "#/$defs/a", "minLength": 3, "type": "string"})"),
              HasSubstr("beside `$ref`"));
  EXPECT_THAT(Wrong(R"({"enum": ["a", 1], "type": "string"})"), HasSubstr("`type` beside `enum`"));
  EXPECT_THAT(Wrong(R"({"const": 1.5, "type": "integer"})"), HasSubstr("`type` beside `const`"));
  EXPECT_THAT(Wrong(R"({"enum": ["abc"], "maxLength": 2})"), HasSubstr("`maxLength`"));
}

TEST(SchemaKeywordsTest, WhatRestrictsOneTypeNeedsIt) {
  EXPECT_THAT(Wrong(R"({"minLength": 3})"), HasSubstr("`minLength` without `type`"));
  EXPECT_THAT(Wrong(R"({"required": ["a"]})"), HasSubstr("`required` without `type`"));
  EXPECT_EQ(Wrong(R"({"required": ["a"], "properties": {"a": {}}})"), "");
}

TEST(SchemaKeywordsTest, NamesAreRestrictedInOneWay) {
  EXPECT_THAT(Wrong(R"({"type": "object", "properties": {}, "patternProperties": {}})"),
              HasSubstr("`patternProperties` beside `properties`"));
}

TEST(SchemaKeywordsTest, WhatIsNoSchemaIsSaid) {
  EXPECT_EQ(Wrong("{"), "it is not valid JSON");
  EXPECT_EQ(Wrong("[]"), "it must be a JSON object");
}

}  // namespace
}  // namespace affine
