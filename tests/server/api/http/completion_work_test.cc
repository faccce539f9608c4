#include "server/api/http/completion_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/server/api/http/http_harness.h"
#include "tests/server/request/observed_heads.h"

namespace affine {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CompletionWorkTest : public ::testing::Test {
 protected:
  CompletionWorkTest() : client_(harness_.port()) {}
  void Post(const json& body, const std::string& headers = "") {
    client_.Send(RequestText("POST", "/v1/completions", body.dump(), headers));
  }
  /// A refusal, which no engine sees.
  json Refused(const json& body, int status) {
    Post(body);
    const ClientResponse response = client_.ReadResponse();
    EXPECT_EQ(response.status, status) << response.body;
    return json::parse(response.body).at("error");
  }
  /// The rest of a stream: the data of its events.
  std::vector<std::string> Events() {
    std::string text;
    for (std::string chunk = client_.ReadChunk(); !chunk.empty(); chunk = client_.ReadChunk()) {
      text += chunk;
    }
    std::vector<std::string> events;
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find("\n\n", at);
      EXPECT_EQ(text.substr(at, 6), "data: ");
      events.push_back(text.substr(at + 6, end - at - 6));
      at = end + 2;
    }
    return events;
  }
  /// The engine has request `handle`'s first token 30 ms from now and tells it 20 ms later.
  void EmitFirst(RequestHandle handle, int32_t token) {
    harness_.clock().Advance(milliseconds(30));
    const Clock::Time sampled = harness_.clock().Now();
    harness_.clock().Advance(milliseconds(20));
    engine().EmitFirst(handle, token, sampled);
  }
  static RequestFinish Observed() {
    RequestFinish finish;
    finish.reason = FinishReason::kUnstable;
    finish.stability = std::make_shared<std::vector<HeadStability>>(ObservedHeads());
    return finish;
  }
  std::vector<Clock::Duration> FirstTokens() { return harness_.observer().first_tokens(); }
  ScriptedEngine& engine() { return harness_.engine(); }

  ServiceHarness harness_;
  LoopbackClient client_;
};

TEST_F(CompletionWorkTest, AnswersWhole) {
  Post({{"model", "tiny"}, {"prompt", "say"}, {"return_token_ids", true}, {"seed", 5}},
       "x-request-id: r-1\r\n");
  const struct affine::Request request = engine().AwaitRequest(1);
  EXPECT_EQ(request.id, "r-1");
  EXPECT_EQ(request.sampling.seed, 5u);
  engine().Emit(1, {'h', 'i'});
  RequestFinish finish;
  finish.reason = FinishReason::kLength;
  finish.cached_tokens = 2;
  engine().Finish(1, finish);
  const ClientResponse response = client_.ReadResponse();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.at("x-request-id"), "r-1");
  json answer = json::parse(response.body);
  EXPECT_GT(answer["created"], 1'700'000'000);
  answer.erase("created");
  EXPECT_EQ(answer, json::parse(R"({"id": "cmpl-r-1", "object": "text_completion", "model": "tiny",
      "choices": [{"index": 0, "text": "hi", "logprobs": null, "finish_reason": "length",
                   "token_ids": [104, 105], "prompt_token_ids": [115, 97, 121]}],
      "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 2}}})"));
}

TEST_F(CompletionWorkTest, StreamsPiecesAsTheyCome) {
  Post({{"prompt", "say"}, {"stream", true}, {"stream_options", {{"include_usage", true}}}});
  engine().AwaitRequest(1);
  engine().Emit(1, {'h'});
  const ClientResponse head = client_.ReadHead();
  EXPECT_EQ(head.headers.at("content-type"), "text/event-stream; charset=utf-8");
  const std::string first = client_.ReadChunk();
  EXPECT_THAT(first, HasSubstr(R"("text":"h","logprobs":null,"finish_reason":null)"));
  engine().Emit(1, {'i'});
  EXPECT_THAT(client_.ReadChunk(), HasSubstr(R"("text":"i")"));
  engine().Finish(1, FinishReason::kStop);
  const std::vector<std::string> rest = Events();
  ASSERT_EQ(rest.size(), 3u);
  const json last = json::parse(rest[0]);
  EXPECT_EQ(last["choices"][0]["text"], "");
  EXPECT_EQ(last["choices"][0]["finish_reason"], "stop");
  const json usage = json::parse(rest[1]);
  EXPECT_EQ(usage["choices"], json::array());
  EXPECT_EQ(usage["usage"]["total_tokens"], 5);
  EXPECT_EQ(rest[2], "[DONE]");
}

TEST_F(CompletionWorkTest, SendsNoPieceForHalfACharacter) {
  Post({{"prompt", "say"}, {"stream", true}});
  engine().AwaitRequest(1);
  engine().Emit(1, {257});  // two of the euro sign's three bytes
  engine().Emit(1, {258});
  client_.ReadHead();
  EXPECT_THAT(client_.ReadChunk(), HasSubstr("\"text\":\"\xe2\x82\xac\""));
  engine().Finish(1, FinishReason::kLength);
  EXPECT_EQ(Events().size(), 2u);
}

TEST_F(CompletionWorkTest, EchoesThePromptWithItsLogProbabilities) {
  Post({{"prompt", "say"}, {"max_tokens", 0}, {"echo", true}, {"logprobs", 1}});
  EXPECT_EQ(engine().AwaitRequest(1).sampling.prompt_top_log_probs, 1);
  TokenEvent event;
  event.prompt = {{'a', -1.5f, 1, {{'a', -1.5f}}}, {'y', -2.5f, 3, {{'b', -0.5f}}}};
  event.finish.emplace().reason = FinishReason::kLength;
  engine().Push(1, event);
  const json choice = json::parse(client_.ReadResponse().body)["choices"][0];
  EXPECT_EQ(choice["text"], "say");
  EXPECT_EQ(choice["logprobs"], json::parse(R"({"tokens": ["s", "a", "y"],
      "token_logprobs": [null, -1.5, -2.5],
      "top_logprobs": [null, {"a": -1.5}, {"b": -0.5, "y": -2.5}], "text_offset": [0, 1, 2]})"));
}

TEST_F(CompletionWorkTest, PromptLogProbabilitiesComeWithTheFirstPieceAlone) {
  Post({{"prompt", "say"}, {"prompt_logprobs", 0}, {"stream", true}});
  engine().AwaitRequest(1);
  TokenEvent event;
  event.prompt = {{'a', -1.5f, 4, {}}, {'y', -2.5f, 3, {}}};
  engine().Push(1, event);
  client_.ReadHead();
  const json first = json::parse(client_.ReadChunk().substr(6))["choices"][0];
  EXPECT_EQ(first["prompt_logprobs"][1]["97"]["rank"], 4);
  engine().Emit(1, {'h'});
  EXPECT_THAT(client_.ReadChunk(), ::testing::Not(HasSubstr("prompt_logprobs")));
}

TEST_F(CompletionWorkTest, AStopStringEndsTheStreamAndTheEngine) {
  Post({{"prompt", "say"}, {"stream", true}, {"stop", "!"}});
  engine().AwaitRequest(1);
  engine().Emit(1, {'h', '!', 'x'});
  client_.ReadHead();
  const std::vector<std::string> events = Events();
  EXPECT_EQ(json::parse(events[0])["choices"][0]["text"], "h");
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_THAT(events[events.size() - 2], HasSubstr(R"("finish_reason":"stop")"));
  engine().AwaitCancel(1);
}

TEST_F(CompletionWorkTest, TheWholeAnswerHasTheStabilityThatWasAskedFor) {
  Post({{"prompt", "say"}, {"stability", true}});
  EXPECT_TRUE(engine().AwaitRequest(1).stability);
  engine().Emit(1, {'h'});
  engine().Finish(1, Observed());
  const json answer = json::parse(client_.ReadResponse().body);
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "unstable");
  EXPECT_EQ(answer["stability"]["queries"], 4);
  EXPECT_FALSE(answer["stability"].contains("heads"));
  Post({{"prompt", "say"}});
  EXPECT_FALSE(engine().AwaitRequest(2).stability);
  engine().Finish(2, FinishReason::kStop);
  EXPECT_FALSE(json::parse(client_.ReadResponse().body).contains("stability"));
}

TEST_F(CompletionWorkTest, AStreamHasTheStabilityBesideItsFinishReasonAlone) {
  Post({{"prompt", "say"},
        {"stream", true},
        {"stability", true},
        {"stability_heads", true},
        {"stream_options", {{"include_usage", true}}}});
  engine().AwaitRequest(1);
  engine().Emit(1, {'h'});
  client_.ReadHead();
  EXPECT_THAT(client_.ReadChunk(), ::testing::Not(HasSubstr("stability")));
  engine().Finish(1, Observed());
  const std::vector<std::string> rest = Events();
  ASSERT_EQ(rest.size(), 3u);
  const json last = json::parse(rest[0]);
  EXPECT_EQ(last["choices"][0]["finish_reason"], "unstable");
  EXPECT_EQ(last["stability"]["queries"], 4);
  EXPECT_EQ(last["stability"]["heads"]["queries"], (json{{4, 4}, {0, 2}}));
  EXPECT_THAT(rest[1], ::testing::Not(HasSubstr("stability")));
}

TEST_F(CompletionWorkTest, AnErrorBeforeTheFirstPieceHasItsStatus) {
  for (const bool stream : {false, true}) {
    Post({{"prompt", "say"}, {"stream", stream}});
    const size_t number = stream ? 2 : 1;
    engine().AwaitRequest(number);
    engine().Cancel(number, RequestError{ErrorCause::kDeadline, "too late", "timeout_ms"});
    const ClientResponse response = client_.ReadResponse();
    EXPECT_EQ(response.status, 504);
    EXPECT_EQ(json::parse(response.body)["error"]["message"], "too late");
  }
  EXPECT_THAT(FirstTokens(), ElementsAre());
}

TEST_F(CompletionWorkTest, AnErrorInTheMiddleIsAnEventAndDoneFollows) {
  Post({{"prompt", "say"}, {"stream", true}});
  engine().AwaitRequest(1);
  engine().Emit(1, {'h'});
  client_.ReadHead();
  client_.ReadChunk();
  engine().Cancel(1, RequestError{ErrorCause::kNonFinite, "logits were not finite", ""});
  const std::vector<std::string> events = Events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(json::parse(events[0])["error"]["code"], "non_finite_logits");
  EXPECT_EQ(events[1], "[DONE]");
  Post({{"prompt", "again"}});
  engine().AwaitRequest(2);
}

TEST_F(CompletionWorkTest, AStreamsFirstTokenCountsWhenItIsWritten) {
  Post({{"prompt", "say"}, {"stream", true}});
  const auto sink = engine().AwaitRequest(1).sink;
  const Clock::Time arrival = harness_.clock().Now();
  EmitFirst(1, 'h');
  client_.ReadHead();
  client_.ReadChunk();
  EXPECT_THAT(FirstTokens(), ElementsAre(milliseconds(50)));
  EXPECT_EQ(sink->first_write(), arrival + milliseconds(50));
  harness_.clock().Advance(milliseconds(5));
  engine().Emit(1, {'i'});
  engine().Finish(1, FinishReason::kStop);
  EXPECT_EQ(Events().back(), "[DONE]");
  EXPECT_EQ(FirstTokens().size(), 1u);
}

TEST_F(CompletionWorkTest, AFirstTokenWithoutTextCountsWhenItsTextIsWritten) {
  Post({{"prompt", "say"}, {"stream", true}});
  engine().AwaitRequest(1);
  EmitFirst(1, 257);  // two of the euro sign's three bytes
  harness_.clock().Advance(milliseconds(5));
  engine().Emit(1, {258});
  client_.ReadHead();
  client_.ReadChunk();
  EXPECT_THAT(FirstTokens(), ElementsAre(milliseconds(55)));
}

TEST_F(CompletionWorkTest, AWholeAnswersFirstTokenCountsWhenTheEngineHadIt) {
  Post({{"prompt", "say"}});
  const auto sink = engine().AwaitRequest(1).sink;
  EmitFirst(1, 'h');
  engine().Finish(1, FinishReason::kStop);
  EXPECT_EQ(client_.ReadResponse().status, 200);
  EXPECT_THAT(FirstTokens(), ElementsAre(milliseconds(30)));
  EXPECT_EQ(sink->first_write(), std::nullopt);
}

TEST_F(CompletionWorkTest, ARequestArrivesWithItsBodysLastByte) {
  const std::string body = json{{"prompt", "say"}, {"timeout_ms", 1000}}.dump();
  const std::string request =
      RequestText("POST", "/v1/completions", body, "Expect: 100-continue\r\n");
  client_.Send(std::string_view(request).substr(0, request.size() - body.size()));
  client_.ReadThrough("100 Continue\r\n\r\n");
  harness_.clock().Advance(std::chrono::seconds(5));
  client_.Send(body);
  const struct affine::Request arrived = engine().AwaitRequest(1);
  EXPECT_EQ(arrived.arrival, harness_.clock().Now());
  EXPECT_EQ(arrived.deadline, harness_.clock().Now() + milliseconds(1000));
}

TEST_F(CompletionWorkTest, AClientThatLeavesFreesItsCompletion) {
  for (const bool stream : {false, true}) {
    LoopbackClient client(harness_.port());
    client.Send(
        RequestText("POST", "/v1/completions", json{{"prompt", "x"}, {"stream", stream}}.dump()));
    const size_t number = stream ? 2 : 1;
    engine().AwaitRequest(number);
    engine().Emit(number, {'h'});
    if (stream) client.ReadHead();
  }
  // Both clients have gone; each handle is cancelled at least once.
  std::set<RequestHandle> cancelled;
  for (size_t i = 1; cancelled.size() < 2; ++i) cancelled.insert(engine().AwaitCancel(i).first);
  EXPECT_EQ(cancelled, (std::set<RequestHandle>{1, 2}));
}

TEST_F(CompletionWorkTest, AFullEngineIsToldWithAHint) {
  engine().RefuseWith({ErrorCause::kFull, "the queue is full", "", 7});
  Post({{"prompt", "x"}}, "x-request-id: r-9\r\n");
  const ClientResponse response = client_.ReadResponse();
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.headers.at("retry-after"), "7");
  EXPECT_EQ(response.headers.at("x-request-id"), "r-9");
  ASSERT_EQ(harness_.observer().refusals().size(), 1u);
  EXPECT_EQ(harness_.observer().refusals()[0].first, "r-9");
}

TEST_F(CompletionWorkTest, BadInputIsNamedAndNothingIsQueued) {
  EXPECT_EQ(Refused({{"prompt", "x"}, {"temperature", 101}}, 400)["param"], "temperature");
  EXPECT_EQ(Refused({{"prompt", ""}}, 400)["param"], "prompt");
  EXPECT_EQ(Refused({{"prompt", "x"}, {"stability_heads", true}}, 400)["param"], "stability_heads");
  EXPECT_EQ(Refused({{"prompt", {0, 9999}}}, 400)["param"], "prompt");
  EXPECT_EQ(Refused({{"prompt", std::string(65, 'x')}}, 400)["param"], "prompt");
  EXPECT_EQ(Refused({{"prompt", "x"}, {"model", "huge"}}, 404)["code"], "model_not_found");
  EXPECT_EQ(
      Refused({{"prompt", "x"}, {"stop", std::vector<std::string>(10'000, "s")}}, 400)["param"],
      "stop");
  EXPECT_EQ(Refused({{"prompt", "x"}, {"request_id", "a\r\nb: c"}}, 400)["param"], "request_id");
  client_.Send(RequestText("POST", "/v1/completions", "{\"prompt\": \"\xff\"}"));
  EXPECT_EQ(client_.ReadResponse().status, 400);
  EXPECT_EQ(engine().submitted(), 0u);
}

TEST_F(CompletionWorkTest, ASlowReaderGetsEverythingInFewerPieces) {
  Post({{"prompt", "x"}, {"stream", true}, {"max_tokens", 40}, {"logprobs", 0}});
  engine().AwaitRequest(1);
  for (int i = 0; i < 40; ++i) engine().Emit(1, {'a' + i % 26});
  engine().Finish(1, FinishReason::kLength);
  client_.ReadHead();
  std::string text;
  size_t tokens = 0;
  for (const std::string& event : Events()) {
    if (event == "[DONE]") continue;
    const json choice = json::parse(event)["choices"][0];
    text += choice["text"].get<std::string>();
    tokens += choice["logprobs"]["tokens"].size();
  }
  EXPECT_EQ(text, "abcdefghijklmnopqrstuvwxyzabcdefghijklmn");
  EXPECT_EQ(tokens, 40u);
}

}  // namespace
}  // namespace affine
