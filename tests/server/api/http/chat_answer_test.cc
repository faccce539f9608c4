#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/server/api/http/http_harness.h"

namespace affine {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ChatAnswerTest : public ::testing::Test {
 protected:
  ChatAnswerTest() : client_(harness_.port()) {}
  void Post(json body) {
    if (!body.contains("messages")) {
      body["messages"] = {{{"role", "user"}, {"content", "hi"}}};
    }
    client_.Send(RequestText("POST", "/v1/chat/completions", body.dump(), "x-request-id: r\r\n"));
  }
  std::string Prompt(RequestHandle handle) {
    return harness_.tokenizer().Decode(engine().AwaitRequest(handle).prompt, false);
  }
  /// The rest of a stream's events but the last, [DONE].
  std::vector<json> Events() {
    std::string text;
    for (std::string chunk = client_.ReadChunk(); !chunk.empty(); chunk = client_.ReadChunk()) {
      text += chunk;
    }
    EXPECT_TRUE(text.ends_with("data: [DONE]\n\n")) << text;
    std::vector<json> events;
    for (size_t at = 0; (at = text.find("data: {", at)) != std::string::npos; ++at) {
      events.push_back(json::parse(text.substr(at + 6, text.find("\n\n", at) - at - 6)));
    }
    return events;
  }
  ScriptedEngine& engine() { return harness_.engine(); }

  ServiceHarness harness_;
  LoopbackClient client_;
};

TEST_F(ChatAnswerTest, AWholeAnswerIsAMessage) {
  Post({{"model", "tiny"}});
  EXPECT_EQ(Prompt(1), "user:hi;>");
  engine().Emit(1, {'O', 'k'});
  engine().Finish(1, FinishReason::kStop);
  const json answer = json::parse(client_.ReadResponse().body);
  EXPECT_EQ(answer["id"], "chatcmpl-r");
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_EQ(answer["model"], "tiny");
  EXPECT_EQ(
      answer["choices"],
      json::array({{{"index", 0},
                    {"message", {{"role", "assistant"}, {"content", "Ok"}, {"refusal", nullptr}}},
                    {"logprobs", nullptr},
                    {"finish_reason", "stop"}}}));
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 9);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 2);
}

TEST_F(ChatAnswerTest, AStreamNamesTheRoleFirstThenGivesContent) {
  Post({{"stream", true}, {"stream_options", {{"include_usage", true}}}});
  engine().AwaitRequest(1);
  engine().Emit(1, {'O'});
  client_.ReadHead();
  const std::string first = client_.ReadChunk();
  engine().Emit(1, {'k'});
  engine().Finish(1, FinishReason::kLength);
  EXPECT_THAT(first, HasSubstr(R"("delta":{"role":"assistant","content":""})"));
  EXPECT_LT(first.find("\"role\""), first.find(R"("delta":{"content":"O"})"));
  EXPECT_EQ(first.find("\"role\""), first.rfind("\"role\""));
  const std::vector<json> events = Events();
  ASSERT_GE(events.size(), 2u);
  std::string content;
  for (const json& event : events) {
    EXPECT_EQ(event["object"], "chat.completion.chunk");
    EXPECT_EQ(event["id"], "chatcmpl-r");
    if (event["choices"].empty()) continue;
    const json& delta = event["choices"][0]["delta"];
    EXPECT_FALSE(delta.contains("role"));
    content += delta.value("content", "");
  }
  EXPECT_EQ(content, "k");
  EXPECT_EQ(events[events.size() - 2]["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(events.back()["choices"], json::array());
  EXPECT_EQ(events.back()["usage"]["completion_tokens"], 2);
}

TEST_F(ChatAnswerTest, LogProbabilitiesHaveTheChatsShape) {
  Post({{"logprobs", true}, {"top_logprobs", 1}});
  engine().AwaitRequest(1);
  TokenEvent event;
  ScoredToken token = ScriptedEngine::Scored(257);  // part of a character
  token.log_prob = -0.5f;
  token.top = {{'A', -0.25f}, {257, -0.5f}};
  event.tokens = {token};
  engine().Push(1, event);
  engine().Finish(1, FinishReason::kLength);
  const json choice = json::parse(client_.ReadResponse().body)["choices"][0];
  EXPECT_EQ(choice["logprobs"],
            (json{{"content",
                   {{{"token", "bytes:\\xe2\\x82"},
                     {"logprob", -0.5},
                     {"bytes", {0xe2, 0x82}},
                     {"top_logprobs", {{{"token", "A"}, {"logprob", -0.25}, {"bytes", {65}}}}}}}},
                  {"refusal", nullptr}}));
}

TEST_F(ChatAnswerTest, SeveralAnswersOfAStreamEachBeginWithTheRole) {
  Post({{"stream", true}, {"n", 2}});
  engine().AwaitRequest(2);
  for (const RequestHandle handle : {2, 1}) {
    engine().Emit(handle, {static_cast<int32_t>('0' + handle)});
    engine().Finish(handle, FinishReason::kLength);
  }
  client_.ReadHead();
  std::map<int, std::string> contents;
  std::map<int, int> roles;
  for (const json& event : Events()) {
    const json& choice = event["choices"][0];
    roles[choice["index"]] += choice["delta"].contains("role") ? 1 : 0;
    contents[choice["index"]] += choice["delta"].value("content", "");
  }
  EXPECT_EQ(contents, (std::map<int, std::string>{{0, "1"}, {1, "2"}}));
  EXPECT_EQ(roles, (std::map<int, int>{{0, 1}, {1, 1}}));
}

TEST_F(ChatAnswerTest, WhatTheTemplateRefusesIsABadRequest) {
  Post({{"messages", {{{"role", "nobody"}, {"content", "secret"}}}}});
  const ClientResponse response = client_.ReadResponse();
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(json::parse(response.body)["error"]["message"], "no nobody: secret");
  EXPECT_EQ(json::parse(response.body)["error"]["param"], "messages");
  ASSERT_EQ(harness_.observer().refusals().size(), 1u);
  EXPECT_EQ(harness_.observer().refusals()[0].second.MessageForLog(), "no nobody");
  EXPECT_EQ(engine().submitted(), 0u);
}

}  // namespace
}  // namespace affine
