#include "server/api/http/chat_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace affine {
namespace {

using ::testing::HasSubstr;

CompletionBody Parsed(const std::string& text) {
  auto result = ParseChatBody(text);
  if (const auto* error = std::get_if<RequestError>(&result)) {
    ADD_FAILURE() << text << ": " << error->message;
    return {};
  }
  return std::get<CompletionBody>(std::move(result));
}

RequestError Refused(const std::string& text) {
  auto result = ParseChatBody(text);
  const auto* error = std::get_if<RequestError>(&result);
  if (error == nullptr) {
    ADD_FAILURE() << text << " was taken";
    return {};
  }
  EXPECT_EQ(error->cause, ErrorCause::kBadInput);
  return *error;
}

std::string With(const std::string& members) {
  return R"({"messages": [{"role": "user", "content": "hi"}], )" + members + "}";
}

const ChatPrompt& ChatOf(const CompletionBody& body) {
  return std::get<ChatPrompt>(body.params.prompt);
}

TEST(ChatCodecTest, ReadsMessagesAsStringsAndAsParts) {
  const CompletionBody body = Parsed(R"({"messages": [
      {"role": "system", "content": "a", "name": "n"},
      {"role": "user", "content": [{"type": "text", "text": "b"}, "c", {"text": "d"}]},
      {"role": "assistant", "content": "", "tool_calls": [], "refusal": null}]})");
  const std::vector<ChatMessage>& messages = ChatOf(body).messages;
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[0].role, "system");
  EXPECT_EQ(messages[0].name, "n");
  EXPECT_EQ(messages[1].content, "b\nc\nd");
  EXPECT_EQ(messages[2].content, "");
  EXPECT_TRUE(body.chat);
  EXPECT_EQ(ChatOf(body).add_generation_prompt, std::nullopt);
}

TEST(ChatCodecTest, ReadsWhatIsAChatsOwn) {
  const CompletionBody body = Parsed(
      With(R"("add_generation_prompt": false, "continue_final_message": true, "logprobs": true,
              "top_logprobs": 3, "max_completion_tokens": 7, "temperature": 0.5, "stop": "x",
              "chat_template_kwargs": {"enable_thinking": false}, "tools": [], "stream": true,
              "tool_choice": "none", "response_format": {"type": "text"}, "n": 2, "user": "u")"));
  EXPECT_EQ(ChatOf(body).add_generation_prompt, false);
  EXPECT_TRUE(ChatOf(body).continue_final_message);
  EXPECT_EQ(ChatOf(body).template_kwargs, R"({"enable_thinking":false})");
  EXPECT_EQ(body.params.logprobs, 3);
  EXPECT_EQ(body.params.max_tokens, 7);
  EXPECT_EQ(body.params.temperature, 0.5);
  EXPECT_EQ(body.params.n, 2);
  EXPECT_TRUE(body.stream);
}

TEST(ChatCodecTest, LogProbabilitiesAreAskedForInTwoFields) {
  EXPECT_EQ(Parsed(With(R"("logprobs": true)")).params.logprobs, 0);
  EXPECT_EQ(Parsed(With(R"("logprobs": false)")).params.logprobs, std::nullopt);
  EXPECT_EQ(Parsed(With(R"("top_logprobs": 0)")).params.logprobs, std::nullopt);
  EXPECT_EQ(Refused(With(R"("top_logprobs": 2)")).param, "top_logprobs");
  EXPECT_EQ(Refused(With(R"("logprobs": 2)")).message, "`logprobs` is 2; it must be true or false");
}

TEST(ChatCodecTest, TheTwoNamesForTheNumberOfTokensMustAgree) {
  EXPECT_EQ(Parsed(With(R"("max_tokens": 5)")).params.max_tokens, 5);
  EXPECT_EQ(Parsed(With(R"("max_tokens": 5, "max_completion_tokens": 5)")).params.max_tokens, 5);
  EXPECT_THAT(Refused(With(R"("max_tokens": 5, "max_completion_tokens": 6)")).message,
              HasSubstr("leave one out"));
}

TEST(ChatCodecTest, WhatIsWrongWithMessagesIsNamed) {
  const auto message = [](const std::string& messages) {
    const RequestError error = Refused(R"({"messages": )" + messages + "}");
    EXPECT_EQ(error.param, "messages");
    return error.message;
  };
  EXPECT_EQ(Refused("{}").message, "`messages` is missing; it must be an array of messages");
  EXPECT_EQ(message("5"), "`messages` is 5; it must be an array of messages");
  EXPECT_THAT(message("[5]"), HasSubstr("`messages[0]` is 5"));
  EXPECT_THAT(message(R"([{"content": "x"}])"), HasSubstr("`messages[0].role` is null"));
  EXPECT_THAT(message(R"([{"role": "user"}])"), HasSubstr("`messages[0].content` is null"));
  EXPECT_THAT(message(R"([{"role": "user", "content": [5]}])"),
              HasSubstr("`messages[0].content[0]` is 5"));
  EXPECT_THAT(message(R"([{"role": "user", "content": [{"type": "image_url"}]}])"),
              HasSubstr("`messages[0].content[0].type` is \"image_url\"; it must be \"text\""));
  EXPECT_THAT(message(R"([{"role": "user", "content": [{"type": "text"}]}])"),
              HasSubstr("`messages[0].content[0].text` is null"));
  EXPECT_THAT(message(R"([{"role": "assistant", "content": "x", "tool_calls": [{}]}])"),
              HasSubstr("`messages[0].tool_calls` is given"));
}

TEST(ChatCodecTest, ReadsTheFormOfTheOutputAndKeepsTheOrderOfASchema) {
  const CompletionBody body = Parsed(With(R"("response_format": {"type": "json_schema",
      "json_schema": {"name": "n", "schema": {"type": "object",
      "properties": {"z": {"type": "null"}, "a": {"type": "null"}}}}})"));
  ASSERT_TRUE(body.params.structured_output);
  const std::string& schema = body.params.structured_output->text;
  EXPECT_EQ(body.params.structured_output->kind, StructuredOutput::Kind::kJsonSchema);
  EXPECT_LT(schema.find("\"z\""), schema.find("\"a\""));
}

TEST(ChatCodecTest, RefusesByNameWhatIsNotServed) {
  for (const char* field : {R"("tools": [{"type": "function"}])", R"("tool_choice": "required")",
                            R"("functions": [1])", R"("audio": {})", R"("modalities": ["audio"])",
                            R"("documents": [{}])", R"("chat_template": "x")", R"("echo": true)",
                            R"("reasoning_effort": "low")", R"("add_special_tokens": true)"}) {
    const RequestError error = Refused(With(field));
    EXPECT_TRUE(std::string(field).starts_with("\"" + error.param + "\"")) << field;
    EXPECT_THAT(error.message, HasSubstr("not supported yet"));
  }
  EXPECT_EQ(Refused(With(R"("chat_template_kwargs": [])")).param, "chat_template_kwargs");
}

}  // namespace
}  // namespace affine
