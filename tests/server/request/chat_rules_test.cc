#include "server/request/chat_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/request/request_validator.h"
#include "tests/server/request/byte_tokenizer.h"
#include "tests/server/request/scripted_engine.h"
#include "tests/support/fake_chat_template.h"

namespace affine {
namespace {

using ::testing::HasSubstr;

class ChatRulesTest : public ::testing::Test {
 protected:
  ChatRulesTest() {
    model_.vocab_size = tokenizer_.vocab_size();
    model_.max_model_len = 64;
    chat_.messages = {{"user", "hi", ""}};
  }
  std::variant<ValidatedRequest, RequestError> Validate(const ChatTemplate* chat_template) {
    params_.prompt = chat_;
    return RequestValidator(model_, tokenizer_, chat_template).Validate(params_, 1);
  }
  RequestError Refused() {
    auto result = Validate(&template_);
    const auto* error = std::get_if<RequestError>(&result);
    if (error == nullptr) {
      ADD_FAILURE() << "nothing was refused";
      return {};
    }
    EXPECT_EQ(error->cause, ErrorCause::kBadInput);
    return *error;
  }

  ByteTokenizer tokenizer_;
  ModelInfo model_;
  FakeChatTemplate template_;
  ChatPrompt chat_;
  CompletionParams params_;
};

TEST_F(ChatRulesTest, TheRenderedTextIsThePromptWithoutMoreSpecialTokens) {
  tokenizer_.AddBos();
  const auto valid = std::get<ValidatedRequest>(Validate(&template_));
  EXPECT_EQ(tokenizer_.Decode(valid.request.prompt, false), "user:hi;>");
}

TEST_F(ChatRulesTest, AnAnswerMayGoOnToTheModelsLength) {
  EXPECT_EQ(std::get<ValidatedRequest>(Validate(&template_)).request.max_tokens, 64 - 9);
  params_.max_tokens = 3;
  EXPECT_EQ(std::get<ValidatedRequest>(Validate(&template_)).request.max_tokens, 3);
}

TEST_F(ChatRulesTest, AConversationThatIsTooLongIsRefusedAsMessages) {
  chat_.messages.push_back({"user", std::string(90, 'x'), ""});
  const RequestError error = Refused();
  EXPECT_EQ(error.param, "messages");
  EXPECT_EQ(
      error.message,
      "`messages` has 105 tokens; the model's limit is 64 tokens, prompt and output together");
}

TEST_F(ChatRulesTest, WhatIsWrongWithAMessageIsNamed) {
  chat_.messages.push_back({"", "x", ""});
  EXPECT_EQ(Refused().message, "`messages[1].role` has 0 bytes; it must have from 1 to 64");
  chat_.messages[1] = {std::string(65, 'r'), "x", ""};
  EXPECT_THAT(Refused().message, HasSubstr("`messages[1].role` has 65 bytes"));
  chat_.messages[1] = {"user", "x", std::string(257, 'n')};
  EXPECT_THAT(Refused().message, HasSubstr("`messages[1].name` has 257 bytes"));
  chat_.messages[1] = {"user", "a\xff", ""};
  EXPECT_THAT(Refused().message, HasSubstr("`messages[1].content` is not valid UTF-8"));
  chat_.messages.assign(16'385, {"user", "x", ""});
  EXPECT_EQ(Refused().message, "`messages` has 16385 messages; it must have from 1 to 16384");
  chat_.messages.clear();
  EXPECT_EQ(Refused().message, "`messages` has 0 messages; it must have from 1 to 16384");
}

TEST_F(ChatRulesTest, VariablesForTheTemplateAreLimited) {
  chat_.template_kwargs.assign(32'769, ' ');
  EXPECT_EQ(Refused().message,
            "`chat_template_kwargs` has 32769 bytes; it must have at most 32768");
  chat_.template_kwargs = "\xff";
  EXPECT_THAT(Refused().message, HasSubstr("`chat_template_kwargs` is not valid UTF-8"));
}

TEST_F(ChatRulesTest, WhatTheTemplateRefusesIsRefusedAndNotLogged) {
  chat_.messages[0].role = "nobody";
  const RequestError error = Refused();
  EXPECT_EQ(error.message, "no nobody: hi");
  EXPECT_EQ(error.MessageForLog(), "no nobody");
}

TEST_F(ChatRulesTest, AModelWithoutATemplateRefuses) {
  EXPECT_THAT(std::get<RequestError>(Validate(nullptr)).message, HasSubstr("no chat template"));
  const FakeChatTemplate broken("it is broken");
  EXPECT_EQ(std::get<RequestError>(Validate(&broken)).message, "it is broken");
}

}  // namespace
}  // namespace affine
