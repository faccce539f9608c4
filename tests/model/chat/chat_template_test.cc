#include "model/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_error.h"
#include "tests/support/temp_folder.h"

namespace affine {
namespace {

using ::testing::HasSubstr;

constexpr char kTemplate[] =
    "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}"
    "{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}";

class ChatTemplateTest : public ::testing::Test {
 protected:
  ChatTemplateTest() { prompt_.messages = {{"user", "hi", ""}, {"assistant", "yes, ", ""}}; }

  std::unique_ptr<ChatTemplate> Load(const std::string& file = "") {
    return LoadChatTemplate({folder_.path(), file, [] { return std::time_t{86'400}; }});
  }
  std::string Rendered(const std::string& file = "") {
    auto result = Load(file)->Render(prompt_);
    if (auto* refusal = std::get_if<ChatRefusal>(&result)) return "refused: " + refusal->message;
    return std::get<std::string>(result);
  }
  void WriteConfig(const std::string& members) {
    folder_.Write("tokenizer_config.json",
                  R"({"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false})" +
                      (members.empty() ? "" : ", " + members) + "}");
  }
  /// As a JSON string.
  static std::string Quoted(std::string text) {
    for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) {
      text.insert(at, "\\");
    }
    return "\"" + text + "\"";
  }

  TempFolder folder_;
  ChatPrompt prompt_;
};

TEST_F(ChatTemplateTest, IsReadFromTheTokenizersConfiguration) {
  WriteConfig("\"chat_template\": " + Quoted(kTemplate));
  EXPECT_EQ(Rendered(), "<s>user: hi</s>assistant: yes, </s>assistant:");
  EXPECT_EQ(Load()->problem(), "");
}

TEST_F(ChatTemplateTest, OfSeveralTheDefaultIsTaken) {
  WriteConfig(R"("chat_template": [{"name": "tool_use", "template": "no"},
                                   {"name": "default", "template": "yes"}])");
  EXPECT_EQ(Rendered(), "yes");
  WriteConfig(R"("chat_template": [{"name": "tool_use", "template": "no"}])");
  EXPECT_THAT(Rendered(), HasSubstr("no chat template"));
}

TEST_F(ChatTemplateTest, AFileOfItsOwnGoesBeforeTheConfiguration) {
  WriteConfig(R"("chat_template": "no")");
  folder_.Write("chat_template.jinja", "yes{{ eos_token }}");
  EXPECT_EQ(Rendered(), "yes</s>");
  EXPECT_EQ(Rendered(folder_.Write("given.jinja", "given")), "given");
}

TEST_F(ChatTemplateTest, SpecialTokensMayStandInTheirOwnFile) {
  folder_.Write("special_tokens_map.json", R"({"bos_token": {"content": "<b>"}})");
  folder_.Write("chat_template.jinja", "{{ bos_token }}{{ eos_token }}.");
  EXPECT_EQ(Rendered(), "<b>.");
}

TEST_F(ChatTemplateTest, AModelWithoutOneSaysTheRemedy) {
  EXPECT_THAT(Rendered(), HasSubstr("--chat_template=FILE"));
  WriteConfig("\"chat_template\": null");
  EXPECT_THAT(Load()->problem(), HasSubstr("no chat template"));
}

TEST_F(ChatTemplateTest, OneThatCantBeUsedIsAProblemButNoReasonNotToServe) {
  WriteConfig(R"("chat_template": "a\n{% include 'x' %}")");
  EXPECT_THAT(Load()->problem(), HasSubstr("line 2"));
  EXPECT_THAT(Load()->problem(), HasSubstr("--chat_template=FILE"));
  folder_.Write("tokenizer_config.json", "{");
  EXPECT_THAT(Load()->problem(), HasSubstr("not valid JSON"));
}

TEST_F(ChatTemplateTest, OneThatWasGivenMustBeUsable) {
  WriteConfig(R"("chat_template": "fine")");
  for (const std::string& file :
       {folder_.path() + "/nowhere", folder_.path(), folder_.Write("bad.jinja", "{% if %}"),
        folder_.Write("long.jinja", std::string(600'000, 'x'))}) {
    EXPECT_THROW(Load(file), ModelError) << file;
  }
}

TEST_F(ChatTemplateTest, EndsInTheGenerationPromptUnlessToldOtherwise) {
  folder_.Write("chat_template.jinja", kTemplate);
  prompt_.add_generation_prompt = false;
  EXPECT_EQ(Rendered(), "user: hiassistant: yes, ");
  prompt_.add_generation_prompt = std::nullopt;
  WriteConfig("");
  prompt_.continue_final_message = true;
  EXPECT_EQ(Rendered(), "<s>user: hi</s>assistant: yes, ");
  prompt_.add_generation_prompt = true;
  EXPECT_THAT(Rendered(), HasSubstr("both true"));
}

TEST_F(ChatTemplateTest, AMessageThatIsNotWrittenCantBeContinued) {
  folder_.Write("chat_template.jinja", "{{ messages[0].content }}");
  prompt_.continue_final_message = true;
  EXPECT_THAT(Rendered(), HasSubstr("does not write the last message"));
}

TEST_F(ChatTemplateTest, SeesNamesDateAndTheCallersVariables) {
  folder_.Write("chat_template.jinja",
                "{{ messages[0].name }} {{ strftime_now('%Y') }} {{ flag }} {{ tools }} "
                "{{ more.a[1] }} {{ messages[1].name is defined }}");
  prompt_.messages[0].name = "Ann";
  prompt_.template_kwargs = R"({"flag": false, "more": {"a": [1, "x"]}})";
  EXPECT_EQ(Rendered(), "Ann 1970 False None x False");
}

TEST_F(ChatTemplateTest, RefusesVariablesThatAreNoneOrItsOwn) {
  folder_.Write("chat_template.jinja", "x");
  for (const auto& [kwargs, why] : std::vector<std::pair<std::string, std::string>>{
           {"5", "must be a JSON object"},
           {"{", "must be a JSON object"},
           {R"({"messages": []})", "\"messages\x22, which can't be set"},
           {R"({"a": )" + std::string(100, '[') + std::string(100, ']') + "}", "nested deeper"},
           {R"({"a": 18446744073709551615})", "64 bits"}}) {
    prompt_.template_kwargs = kwargs;
    EXPECT_THAT(Rendered(), HasSubstr(why)) << kwargs;
  }
}

TEST_F(ChatTemplateTest, WhatTheTemplateRaisesIsTheCallersAndNotTheLogs) {
  folder_.Write("chat_template.jinja", "{{ raise_exception('not ' ~ messages[0].content) }}");
  auto result = Load()->Render(prompt_);
  const auto& refusal = std::get<ChatRefusal>(result);
  EXPECT_EQ(refusal.param, "messages");
  EXPECT_EQ(refusal.message, "the model's chat template refuses `messages`: not hi");
  EXPECT_EQ(refusal.log_message, "the model's chat template refuses `messages`");
}

TEST_F(ChatTemplateTest, ErrorsOfTheTemplateNameItsLine) {
  folder_.Write("chat_template.jinja", "\n{{ messages[0].zz.y }}");
  EXPECT_THAT(Rendered(), HasSubstr("line 2: 'dict object' has no attribute 'zz'"));
}

}  // namespace
}  // namespace affine
