#include <gtest/gtest.h>

#include "model/jinja/template_error.h"
#include "tests/model/jinja/rendering.h"

namespace affine::jinja {
namespace {

using nlohmann::ordered_json;

std::string Times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

std::string ErrorOf(const std::string& source, const ordered_json& variables = {{"s", "abc"}}) {
  try {
    Rendered(source, variables);
    return "";
  } catch (const TemplateError& error) {
    return error.what();
  }
}

TEST(HostileTemplateTest, NestingIsLimitedEverywhere) {
  for (const std::string& source :
       {"{{ " + Times(5000, "(") + "1" + Times(5000, ")") + " }}",
        "{{ " + Times(5000, "[") + Times(5000, "]") + " }}", "{{ " + Times(5000, "not ") + "1 }}",
        "{{ " + Times(5000, "-") + "1 }}", "{{ 1" + Times(5000, " + 1") + " }}",
        "{{ s" + Times(5000, "[0]") + " }}", "{{ s" + Times(5000, " | trim") + " }}",
        "{{ s" + Times(5000, " is string") + " }}", "{{ 1" + Times(5000, " if 1 else 1") + " }}",
        Times(5000, "{% if 1 %}") + Times(5000, "{% endif %}"),
        "{% if 0 %}" + Times(5000, "{% elif 0 %}") + "{% endif %}",
        "{{ " + Times(5000, "{1: ") + "1" + Times(5000, "}") + " }}"}) {
    const std::string error = ErrorOf(source);
    EXPECT_NE(error.find("nested deeper than 100"), std::string::npos)
        << source.substr(0, 60) << ": " << error;
  }
}

TEST(HostileTemplateTest, ValuesNestOnlySoDeep) {
  EXPECT_NE(ErrorOf("{% set ns = namespace(x=1) %}{% for i in range(500) %}{% set ns.x = [ns.x] %}"
                    "{% endfor %}")
                .find("nested deeper"),
            std::string::npos);
  EXPECT_NE(ErrorOf("{% set ns = namespace() %}{% for i in range(9) %}{% set ns.x = ns %}"
                    "{% endfor %}")
                .find("can't be part"),
            std::string::npos);
}

TEST(HostileTemplateTest, WorkIsLimited) {
  const std::string loops = Times(4, "{% for i in range(1000) %}") + Times(4, "{% endfor %}");
  for (const std::string& source :
       {loops, std::string("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"),
        std::string("{{ 'x' * 10000000000000 }}"), std::string("{{ [1] * 10000000000000 }}"),
        std::string("{% set ns = namespace(x='ab') %}{% for i in range(99) %}"
                    "{% set ns.x = ns.x + ns.x %}{% endfor %}"),
        std::string("{% set ns = namespace(x=[1]) %}{% for i in range(99) %}"
                    "{% set ns.x = ns.x + ns.x %}{% endfor %}"),
        std::string("{% for i in range(1000) %}{{ ('x' * 100000).replace('', 'y' * 1000) }}"
                    "{% endfor %}"),
        std::string("{{ 'a' | indent(100000000000) }}"),
        std::string("{{ [1] | tojson(indent=64) * 10000000 }}"),
        std::string("{% set x = range(100000) | list %}{% for i in x %}{{ i in x }}{% endfor %}"),
        std::string("{% set x = 'ab' * 1000000 %}{% for i in range(100000) %}"
                    "{{ x.count('ba') }}{% endfor %}")}) {
    EXPECT_NE(ErrorOf(source), "") << source.substr(0, 80);
  }
}

TEST(HostileTemplateTest, ALongConversationIsNoTrouble) {
  ordered_json messages = ordered_json::array();
  for (int i = 0; i < 20'000; ++i) {
    messages.push_back({{"role", i % 2 ? "assistant" : "user"}, {"content", Times(50, "word ")}});
  }
  const std::string text = Rendered(
      "{% for m in messages %}{{ '<' + m['role'] + '>' + m['content'] | trim + '</>' }}{% endfor "
      "%}",
      {{"messages", messages}});
  EXPECT_GT(text.size(), 5'000'000u);
}

TEST(HostileTemplateTest, EveryPrefixOfATemplateIsReadOrRefused) {
  const std::string source =
      "{%- set ns = namespace(a=[1, 'b\\n', {'c': -2.5e3}]) -%}\n{# x #}{% for k, v in d.items() "
      "if "
      "v is not none %}{{ k ~ v[::-1] | default('y', true) }}{% else %}{% raw %}{{{% endraw %}"
      "{% endfor %}{% macro m(a, b=1) %}{{ a if b else 2 ** 3 }}{% endmacro %}";
  int refused = 0;
  for (size_t length = 0; length <= source.size(); ++length) {
    refused += ErrorOf(source.substr(0, length), {{"d", {{"a", "b"}}}}).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 100);
  EXPECT_EQ(ErrorOf(source, {{"d", {{"a", "b"}}}}), "");
}

TEST(HostileTemplateTest, ATemplateIsLimitedInSizeAndIsUtf8) {
  EXPECT_NE(ErrorOf(std::string(600'000, 'a')).find("limit is 524288"), std::string::npos);
  EXPECT_NE(ErrorOf("a\xff").find("UTF-8"), std::string::npos);
}

}  // namespace
}  // namespace affine::jinja
