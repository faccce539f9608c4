#include "server/app/help_page.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

namespace affine {
namespace {

TEST(HelpPageTest, ShowsEveryFlagWithDefaultAndEnvironmentName) {
  const FlagTable table;
  const std::string page = HelpPage(table);
  for (const Flag& flag : table.flags()) {
    EXPECT_NE(page.find(flag.name + (flag.boolean() ? "\n" : "=")), std::string::npos) << flag.name;
    EXPECT_NE(page.find("Environment: " + flag.environment_name() + "\n"), std::string::npos);
    EXPECT_NE(page.find("\n" + flag.group + ":\n"), std::string::npos) << flag.group;
  }
  EXPECT_NE(page.find("Default: 127.0.0.1. Environment: AFFINE_HOST"), std::string::npos);
}

TEST(HelpPageTest, FitsATerminal) {
  std::istringstream lines(HelpPage(FlagTable()));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(HelpPageTest, EachGroupIsShownOnce) {
  const FlagTable table;
  const std::string page = HelpPage(table);
  for (const Flag& flag : table.flags()) {
    const std::string heading = "\n" + flag.group + ":\n";
    EXPECT_EQ(page.find(heading), page.rfind(heading)) << flag.group;
  }
}

// affine_server --help=markdown writes the table anew.
TEST(HelpPageTest, TheReadmeCarriesTheTableOfFlags) {
  std::ifstream file(APP_README);
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(readme.find(MarkdownFlags(FlagTable())), std::string::npos)
      << "put this into server/app/README.md:\n"
      << MarkdownFlags(FlagTable());
}

}  // namespace
}  // namespace affine
