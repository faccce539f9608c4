#include "server/grammar/form_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace affine {
namespace {

using Kind = StructuredOutput::Kind;
using testing::HasSubstr;

std::string Wrong(const StructuredOutput& form, const FormLimits& limits = {}) {
  const auto error = CheckForm(form, limits);
  if (!error) return "";
  EXPECT_EQ(error->cause, ErrorCause::kBadInput);
  EXPECT_EQ(error->param, form.field);
  return error->message;
}
StructuredOutput Of(Kind kind, std::string text) { return {kind, std::move(text), {}, "form"}; }
std::string Times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(FormLimitsTest, BytesAreLimitedWhateverTheForm) {
  const FormLimits limits{.max_bytes = 5};
  EXPECT_EQ(Wrong(Of(Kind::kRegex, "abcde"), limits), "");
  EXPECT_EQ(Wrong(Of(Kind::kRegex, "abcdef"), limits),
            "`form` has 6 bytes; it must have at most 5 (--max_grammar_bytes)");
  EXPECT_EQ(Wrong({Kind::kChoice, "", {"abc", "de"}, "form"}, limits), "");
  EXPECT_THAT(Wrong({Kind::kChoice, "", {"abc", "def"}, "form"}, limits), HasSubstr("6 bytes"));
}

TEST(FormLimitsTest, ThereIsTextAndItIsText) {
  EXPECT_THAT(Wrong(Of(Kind::kGrammar, "")), HasSubstr("is empty"));
  EXPECT_THAT(Wrong(Of(Kind::kRegex, "\xff")), HasSubstr("UTF-8"));
  EXPECT_THAT(Wrong(Of(Kind::kRegex, std::string("a\0b", 3))), HasSubstr("NUL"));
  EXPECT_EQ(Wrong(Of(Kind::kJsonObject, "")), "");
}

TEST(FormLimitsTest, ChoicesAreSomeAndNotEmpty) {
  const FormLimits limits{.max_choices = 2};
  EXPECT_EQ(Wrong({Kind::kChoice, "", {"a", "b"}, "form"}, limits), "");
  EXPECT_THAT(Wrong({Kind::kChoice, "", {"a", "b", "c"}, "form"}, limits),
              HasSubstr("has 3 choices; it must have 1 to 2"));
  EXPECT_THAT(Wrong({Kind::kChoice, "", {}, "form"}), HasSubstr("has 0 choices"));
  EXPECT_THAT(Wrong({Kind::kChoice, "", {"a", ""}, "form"}), HasSubstr("empty choice at 1"));
  EXPECT_THAT(Wrong({Kind::kChoice, "", {"\xff"}, "form"}), HasSubstr("UTF-8"));
}

TEST(FormLimitsTest, BracketsAreNestedToALimit) {
  const FormLimits limits{.max_depth = 3};
  EXPECT_EQ(Wrong(Of(Kind::kRegex, "((()))(())"), limits), "");
  EXPECT_THAT(Wrong(Of(Kind::kRegex, "(((())))"), limits),
              HasSubstr("is nested 4 deep; it must be at most 3"));
  EXPECT_EQ(Wrong(Of(Kind::kRegex, R"(\(\(\(\([((((]\))"), limits), "");
  EXPECT_EQ(Wrong(Of(Kind::kJsonSchema, R"({"a": [{}], "b": "{{{{[[[[\"{{{{"})"), limits), "");
  EXPECT_THAT(Wrong(Of(Kind::kJsonSchema, R"({"a": [{"b": {}}]})"), limits), HasSubstr("4 deep"));
  EXPECT_EQ(Wrong(Of(Kind::kGrammar, R"(root ::= "((((" (("a")) [((((])"), limits), "");
  EXPECT_THAT(Wrong(Of(Kind::kGrammar, Times(9, "(") + Times(9, ")")), limits),
              HasSubstr("9 deep"));
}

}  // namespace
}  // namespace affine
