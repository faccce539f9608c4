#include <gtest/gtest.h>

#include <fstream>

#include "model/jinja/template_error.h"
#include "tests/model/jinja/rendering.h"

namespace affine::jinja {
namespace {

using nlohmann::ordered_json;

ordered_json Cases() { return ordered_json::parse(std::ifstream(JINJA_CASES)); }

// What became of it, in the words of cases.json.
ordered_json OutcomeOf(const ordered_json& row) {
  try {
    return {{"expected", Rendered(row["template"], row["variables"])}};
  } catch (const RaisedByTemplate& error) {
    return {{"raised", error.what()}};
  } catch (const TemplateError&) {
    return {{"refused", true}};
  }
}

TEST(CasesTest, GivesWhatPythonsJinjaGives) {
  const ordered_json cases = Cases();
  ASSERT_GT(cases.size(), 100u);
  for (const ordered_json& row : cases) {
    ordered_json expected = row;
    for (const char* key : {"name", "template", "variables"}) expected.erase(key);
    EXPECT_EQ(OutcomeOf(row), expected) << row["name"] << "\n" << row["template"];
  }
}

TEST(CasesTest, NamesTheLineOfAnError) {
  const auto message = [](const std::string& source) -> std::string {
    try {
      return Rendered(source);
    } catch (const TemplateError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(message("a\n\n{{ x.y }}"), "line 3: 'x' is undefined");
  EXPECT_EQ(message("{% if true %}\n{{ s.zz.y }}{% endif %}"),
            "line 2: 'str object' has no attribute 'zz'");
  EXPECT_EQ(
      message("\n{% nope %}"),
      "line 2: expected one of the statements if, for, set, macro, filter, generation, break, "
      "continue, but found 'nope'");
  EXPECT_EQ(message("\n{{ s | nope }}"), "line 2: there is no filter 'nope' here");
  EXPECT_EQ(message("{% for x in s %}\n"),
            "line 1: expected 'endfor', but found the end of the "
            "template");
}

TEST(CasesTest, RefusesByNameWhatItDoesNotHave) {
  for (const char* source :
       {"{% include 'x' %}", "{% import 'x' as y %}", "{% extends 'x' %}", "{% call f() %}",
        "{{ f(*s) }}", "{{ f(**s) }}", "{% for x in s recursive %}{% endfor %}",
        "{{ s | groupby }}", "{% for x in s %}{% macro m() %}{% endmacro %}{% endfor %}",
        "{{ '%s' % s }}", "{{ s | int(base=16) }}", "{{ 9223372036854775807 + 1 }}",
        "{{ 9223372036854775808 }}"}) {
    EXPECT_THROW(Rendered(source), TemplateError) << source;
  }
}

}  // namespace
}  // namespace affine::jinja
