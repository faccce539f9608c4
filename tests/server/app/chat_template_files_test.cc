#include "server/app/chat_template_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace affine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Names = std::vector<std::string>;

Names Files(const std::string& flag, const Names& names = {"plain", "affine"}) {
  return std::get<Names>(ChatTemplateFiles(flag, names));
}

std::string Error(const std::string& flag) {
  const auto result = ChatTemplateFiles(flag, {"plain", "affine"});
  const auto* error = std::get_if<UsageError>(&result);
  return error != nullptr ? error->message : "no error";
}

TEST(ChatTemplateFilesTest, OneFileIsForAllModels) {
  EXPECT_THAT(Files(""), ElementsAre("", ""));
  EXPECT_THAT(Files("chat.jinja"), ElementsAre("chat.jinja", "chat.jinja"));
  EXPECT_THAT(Files("./a=b\\,c"), ElementsAre("./a=b,c", "./a=b,c"));
}

TEST(ChatTemplateFilesTest, NamedFilesAreForTheirModels) {
  EXPECT_THAT(Files("affine=a=b.jinja"), ElementsAre("", "a=b.jinja"));
  EXPECT_THAT(Files("affine=/x/a,plain=b"), ElementsAre("b", "/x/a"));
}

TEST(ChatTemplateFilesTest, WhatIsWrongIsSaid) {
  EXPECT_THAT(Error("a,b"), HasSubstr("'a' in it must be NAME=FILE, such as plain=chat.jinja"));
  EXPECT_THAT(Error("afine=x"), HasSubstr("no model is called 'afine'; write ./afine=x"));
  EXPECT_THAT(Error("plain=a,plain=b"), HasSubstr("'plain' is in it twice"));
  EXPECT_THAT(Error("plain="), HasSubstr("a file must follow"));
}

}  // namespace
}  // namespace affine
