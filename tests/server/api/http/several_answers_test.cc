#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/server/api/http/http_harness.h"

namespace affine {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class SeveralAnswersTest : public ::testing::Test {
 protected:
  SeveralAnswersTest() : client_(harness_.port()) {}
  void Post(const json& body) {
    client_.Send(RequestText("POST", "/v1/completions", body.dump(), "x-request-id: r\r\n"));
  }
  /// The next event of a stream.
  json Event() {
    const std::string chunk = client_.ReadChunk();
    EXPECT_TRUE(chunk.starts_with("data: {")) << chunk;
    return json::parse(chunk.substr(6, chunk.find("\n\n") - 6));
  }
  ScriptedEngine& engine() { return harness_.engine(); }

  ServiceHarness harness_;
  LoopbackClient client_;
};

TEST_F(SeveralAnswersTest, ChoicesAreNumberedPromptByPrompt) {
  Post({{"prompt", {"xy", json::array({99, 100, 101})}}, {"n", 2}, {"return_token_ids", true}});
  engine().AwaitRequest(4);
  for (RequestHandle handle = 4; handle >= 1; --handle) {
    engine().Emit(handle, {static_cast<int32_t>('0' + handle)});
    engine().Finish(handle, FinishReason::kLength);
  }
  const json answer = json::parse(client_.ReadResponse().body);
  ASSERT_EQ(answer["choices"].size(), 4u);
  for (int i = 0; i < 4; ++i) {
    const json& choice = answer["choices"][i];
    EXPECT_EQ(choice["index"], i);
    EXPECT_EQ(choice["text"], std::to_string(i + 1));
    EXPECT_EQ(choice["finish_reason"], "length");
    EXPECT_EQ(choice["prompt_token_ids"],
              i < 2 ? json::array({120, 121}) : json::array({99, 100, 101}));
  }
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 5);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 4);
}

TEST_F(SeveralAnswersTest, EachChoiceHasItsOwnLogProbabilitiesAndOffsets) {
  Post({{"prompt", {"uv", "wxyz"}}, {"echo", true}, {"logprobs", 0}, {"n", 2}});
  engine().AwaitRequest(4);
  TokenEvent uv, wxyz;
  uv.prompt = {ScriptedEngine::Scored('v')};
  for (const char c : {'x', 'y', 'z'}) wxyz.prompt.push_back(ScriptedEngine::Scored(c));
  engine().Push(1, uv);
  engine().Push(3, wxyz);
  for (RequestHandle handle = 1; handle <= 4; ++handle) {
    engine().Emit(handle, {'!', '?'});
    engine().Finish(handle, FinishReason::kLength);
  }
  const json choices = json::parse(client_.ReadResponse().body)["choices"];
  for (const int i : {0, 1}) {
    EXPECT_EQ(choices[i]["logprobs"]["text_offset"], json::array({0, 1, 2, 3}));
    EXPECT_EQ(choices[i]["logprobs"]["token_logprobs"].size(), 4u);
    EXPECT_EQ(choices[i]["logprobs"]["token_logprobs"][0], nullptr);
    EXPECT_EQ(choices[i + 2]["logprobs"]["text_offset"], json::array({0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(choices[i + 2]["text"], "wxyz!?");
  }
}

TEST_F(SeveralAnswersTest, AStreamInterleavesTheChoicesAndEndsWithTheUsageOfAll) {
  Post({{"prompt", "uv"},
        {"n", 2},
        {"stream", true},
        {"stream_options", {{"include_usage", true}, {"continuous_usage_stats", true}}}});
  engine().AwaitRequest(2);
  engine().Emit(2, {'x'});
  client_.ReadHead();
  json event = Event();
  EXPECT_EQ(event["choices"][0]["index"], 1);
  EXPECT_EQ(event["choices"][0]["text"], "x");
  EXPECT_EQ(event["usage"], json::parse(R"({"prompt_tokens": 2, "completion_tokens": 1,
                                            "total_tokens": 3})"));
  engine().Emit(1, {'a', 'b'});
  event = Event();
  EXPECT_EQ(event["choices"][0]["index"], 0);
  EXPECT_EQ(event["usage"]["completion_tokens"], 2) << "of this choice";
  engine().Finish(2, FinishReason::kStop);
  event = Event();
  EXPECT_EQ(event["choices"][0]["index"], 1);
  EXPECT_EQ(event["choices"][0]["finish_reason"], "stop");
  engine().Finish(1, FinishReason::kLength);
  const std::string rest = client_.ReadChunk();
  EXPECT_THAT(rest, HasSubstr(R"("index":0,"text":"","logprobs":null,"finish_reason":"length")"));
  EXPECT_THAT(rest, HasSubstr(R"("choices":[],"usage":{"prompt_tokens":2,"completion_tokens":3,)"));
  EXPECT_TRUE(rest.ends_with("data: [DONE]\n\n"));
}

TEST_F(SeveralAnswersTest, AnErrorOfOneEndsTheAnswerAndTheOthers) {
  Post({{"prompt", {"a", "b"}}});
  engine().AwaitRequest(2);
  engine().Emit(1, {'x'});
  engine().Cancel(2, RequestError{ErrorCause::kNonFinite, "not finite", ""});
  const ClientResponse response = client_.ReadResponse();
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(json::parse(response.body)["error"]["code"], "non_finite_logits");
  EXPECT_EQ(engine().AwaitCancel(2).first, 1u);
}

TEST_F(SeveralAnswersTest, TheBestComeFirstAndAStreamCantHaveThem) {
  Post({{"prompt", "a"}, {"best_of", 2}, {"stream", true}});
  const ClientResponse refusal = client_.ReadResponse();
  EXPECT_EQ(refusal.status, 400);
  EXPECT_EQ(json::parse(refusal.body)["error"]["param"], "best_of");
  Post({{"prompt", "a"}, {"best_of", 2}});
  engine().AwaitRequest(2);
  engine().Emit(1, {'z'});  // log-probabilities fall with the id
  engine().Emit(2, {'b'});
  for (const RequestHandle handle : {1, 2}) engine().Finish(handle, FinishReason::kLength);
  const json answer = json::parse(client_.ReadResponse().body);
  ASSERT_EQ(answer["choices"].size(), 1u);
  EXPECT_EQ(answer["choices"][0]["text"], "b");
  EXPECT_EQ(answer["usage"]["completion_tokens"], 2);
}

}  // namespace
}  // namespace affine
