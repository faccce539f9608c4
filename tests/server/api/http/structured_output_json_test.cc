#include "server/api/http/structured_output_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api/http/completion_codec.h"

namespace affine {
namespace {

using Kind = StructuredOutput::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

std::string Body(const std::string& members) { return R"({"prompt": "x", )" + members + "}"; }

std::optional<StructuredOutput> Read(const std::string& members) {
  auto result = ParseCompletionBody(Body(members));
  if (const auto* error = std::get_if<RequestError>(&result)) {
    ADD_FAILURE() << members << ": " << error->message;
    return std::nullopt;
  }
  return std::get<CompletionBody>(result).params.structured_output;
}

void Expect(const std::string& members, Kind kind, const std::string& text,
            const std::string& field) {
  const auto form = Read(members);
  ASSERT_TRUE(form) << members;
  EXPECT_EQ(form->kind, kind) << members;
  EXPECT_EQ(form->text, text);
  EXPECT_EQ(form->field, field);
}

TEST(StructuredOutputJsonTest, EveryNameOfEveryForm) {
  Expect(R"("structured_outputs": {"regex": "a+"})", Kind::kRegex, "a+",
         "structured_outputs.regex");
  Expect(R"("guided_regex": "a+")", Kind::kRegex, "a+", "guided_regex");
  Expect(R"("structured_outputs": {"grammar": "root ::= \"a\""})", Kind::kGrammar, "root ::= \"a\"",
         "structured_outputs.grammar");
  Expect(R"("guided_grammar": "g")", Kind::kGrammar, "g", "guided_grammar");
  Expect(R"("structured_outputs": {"json_object": true})", Kind::kJsonObject, "",
         "structured_outputs.json_object");
  Expect(R"("response_format": {"type": "json_object"})", Kind::kJsonObject, "", "response_format");
  const auto choice = Read(R"("structured_outputs": {"choice": ["a", "b"]})");
  EXPECT_THAT(choice->choices, ElementsAre("a", "b"));
  EXPECT_EQ(choice->field, "structured_outputs.choice");
  EXPECT_THAT(Read(R"("guided_choice": ["a", "b"])")->choices, ElementsAre("a", "b"));
}

TEST(StructuredOutputJsonTest, ASchemaIsAnObjectOrItsText) {
  const std::string schema = R"({"type":"object"})";
  const std::string text = R"("{\"type\":\"object\"}")";
  for (const std::string& given : {schema, text}) {
    Expect(R"("guided_json": )" + given, Kind::kJsonSchema, schema, "guided_json");
    Expect(R"("structured_outputs": {"json": )" + given + "}", Kind::kJsonSchema, schema,
           "structured_outputs.json");
  }
  Expect(R"("response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": true,
         "schema": {"type": "object"}}})",
         Kind::kJsonSchema, schema, "response_format.json_schema.schema");
}

TEST(StructuredOutputJsonTest, MembersOfASchemaKeepTheirOrder) {
  const std::string schema = R"({"z":{"y":1,"x":2},"a":{}})";
  for (const std::string& members :
       {R"("guided_json": )" + schema, R"("structured_outputs": {"json": )" + schema + "}",
        R"("response_format": {"json_schema": {"schema": )" + schema +
            R"(}, "type": "json_schema"})"}) {
    EXPECT_EQ(Read(members)->text, schema);
  }
  EXPECT_EQ(Read(R"("guided_json": "{\"z\": 1, \"a\": 2}")")->text, R"({"z": 1, "a": 2})");
}

TEST(StructuredOutputJsonTest, NoFormIsNone) {
  EXPECT_FALSE(Read(R"("response_format": {"type": "text"})"));
  EXPECT_FALSE(Read(R"("response_format": null, "structured_outputs": null)"));
  EXPECT_FALSE(Read(R"("guided_json": null)"));
}

struct Bad {
  std::string members, param, message;
};

class StructuredOutputJsonRefusalTest : public testing::TestWithParam<Bad> {};

TEST_P(StructuredOutputJsonRefusalTest, NamesFieldAndLimit) {
  const Bad& bad = GetParam();
  auto result = ParseCompletionBody(Body(bad.members));
  const auto* error = std::get_if<RequestError>(&result);
  ASSERT_NE(error, nullptr) << bad.members;
  EXPECT_EQ(error->cause, ErrorCause::kBadInput);
  EXPECT_EQ(error->param, bad.param);
  EXPECT_THAT(error->message, HasSubstr(bad.message));
}

INSTANTIATE_TEST_SUITE_P(
    All, StructuredOutputJsonRefusalTest,
    testing::Values(
        Bad{R"("guided_regex": 3)", "guided_regex", "a string"},
        Bad{R"("guided_json": 3)", "guided_json", "a JSON schema"},
        Bad{R"("guided_choice": [1])", "guided_choice", "`guided_choice[0]` is 1"},
        Bad{R"("guided_regex": "a", "guided_choice": ["b"])", "guided_choice", "both given"},
        Bad{R"("guided_regex": "a", "response_format": {"type": "json_object"})", "response_format",
            "both given"},
        Bad{R"("structured_outputs": {"regex": "a", "json": {}})", "structured_outputs.regex",
            "both given"},
        Bad{R"("structured_outputs": {})", "structured_outputs", "has no form"},
        Bad{R"("structured_outputs": {"json_object": false})", "structured_outputs", "has no form"},
        Bad{R"("structured_outputs": 3)", "structured_outputs", "an object"},
        Bad{R"("structured_outputs": {"regex": 3})", "structured_outputs",
            "`structured_outputs.regex` is 3"},
        Bad{R"("structured_outputs": {"regex": "a", "structural_tag": "b"})", "structured_outputs",
            "not supported"},
        Bad{R"("response_format": {"type": "xml"})", "response_format", "\"xml\""},
        Bad{R"("response_format": {})", "response_format", "response_format.type"},
        Bad{R"("response_format": {"type": "json_schema"})", "response_format", "is missing"},
        Bad{R"("response_format": {"type": "json_schema", "json_schema": {"schema": 3}})",
            "response_format", "response_format.json_schema.schema"}));

}  // namespace
}  // namespace affine
