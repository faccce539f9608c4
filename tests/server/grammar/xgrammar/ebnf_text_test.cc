#include "server/grammar/xgrammar/ebnf_text.h"

#include <gtest/gtest.h>

namespace affine {
namespace {

TEST(EbnfTextTest, EachIsATextOfItsOwn) {
  EXPECT_EQ(EbnfOfChoices({"yes", "no"}), R"(root ::= "yes" | "no")");
}

TEST(EbnfTextTest, WhatWouldEndATextIsEscaped) {
  EXPECT_EQ(EbnfOfChoices({"a\"b\\c\nd\x7f"}), "root ::= \"a\\\"b\\\\c\\u000ad\\u007f\"");
  EXPECT_EQ(EbnfOfChoices({"größer 😀"}), "root ::= \"größer 😀\"");
}

TEST(EbnfTextTest, ADotIsNoLineBreak) {
  EXPECT_EQ(WithPlainDots(R"(a.\.[.\].]\\.)"), R"(a[^\n]\.[.\].]\\[^\n])");
}

TEST(EbnfTextTest, ARegularExpressionStandsInAMacro) {
  EXPECT_EQ(EbnfOfRegex("a\\d\""), "root ::= Regex(\"a\\\\d\\\"\")");
}

}  // namespace
}  // namespace affine
