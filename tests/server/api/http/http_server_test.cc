#include "server/api/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/server/api/http/http_harness.h"

namespace affine {
namespace {

using nlohmann::json;

const char* const kStreamed = R"({"prompt": "say", "stream": true})";

class HttpServerTest : public ::testing::Test {
 protected:
  ServiceHarness harness_;
};

TEST(HttpServerLimitTest, OneConnectionTooManyIsToldSo) {
  ByteTokenizer tokenizer;
  ServedModels models({"tiny"});
  RecordingApiObserver observer;
  HttpService service({}, models, kSteadyClock, observer, [] { return std::string(); });
  HttpHarness http(service, {}, 2);
  LoopbackClient first(http.port());
  LoopbackClient second(http.port());
  for (LoopbackClient* client : {&first, &second}) {
    client->Send(RequestText("GET", "/health"));
    EXPECT_EQ(client->ReadResponse().status, 200);
  }
  LoopbackClient third(http.port());
  const ClientResponse response = third.ReadResponse();
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.headers.at("retry-after"), "1");
  EXPECT_EQ(json::parse(response.body)["error"]["message"],
            "the server has its most HTTP connections, 2; try again later");
  first.Send(RequestText("GET", "/health"));
  EXPECT_EQ(first.ReadResponse().status, 200);
}

TEST_F(HttpServerTest, DrainingClosesIdleConnections) {
  LoopbackClient client(harness_.port());
  client.Send(RequestText("GET", "/health"));
  EXPECT_EQ(client.ReadResponse().status, 200);
  harness_.server().Drain();
  EXPECT_EQ(client.ReadToEnd(), "");
  EXPECT_TRUE(harness_.server().WaitUntilEmpty(std::nullopt));
}

TEST_F(HttpServerTest, DrainingLetsARunningStreamFinishAndThenCloses) {
  LoopbackClient client(harness_.port());
  client.Send(RequestText("POST", "/v1/completions", kStreamed));
  harness_.engine().AwaitRequest(1);
  harness_.engine().Emit(1, {'h'});
  EXPECT_EQ(client.ReadHead().status, 200);
  EXPECT_NE(client.ReadChunk(), "");
  harness_.server().Drain();
  EXPECT_FALSE(harness_.server().WaitUntilEmpty(std::chrono::milliseconds(0)));
  harness_.engine().Finish(1, FinishReason::kLength);
  EXPECT_THAT(client.ReadToEnd(), ::testing::EndsWith("data: [DONE]\n\n\r\n0\r\n\r\n"));
  client.Close();
  EXPECT_TRUE(harness_.server().WaitUntilEmpty(std::nullopt));
}

TEST_F(HttpServerTest, AnAnswerThatBeginsWhileDrainingSaysThatItIsTheLast) {
  LoopbackClient client(harness_.port());
  client.Send(RequestText("POST", "/v1/completions", R"({"prompt": "say"})"));
  harness_.engine().AwaitRequest(1);
  harness_.server().Drain();
  harness_.engine().Finish(1, FinishReason::kLength);
  EXPECT_EQ(client.ReadResponse().headers["connection"], "close");
}

TEST_F(HttpServerTest, CuttingEndsRunningStreamsAndCancelsTheirCompletions) {
  LoopbackClient client(harness_.port());
  client.Send(RequestText("POST", "/v1/completions", kStreamed));
  harness_.engine().AwaitRequest(1);
  harness_.server().Cut();
  EXPECT_EQ(client.ReadToEnd(), "");
  EXPECT_EQ(harness_.engine().AwaitCancel(1).second.value().cause, ErrorCause::kCancelled);
  EXPECT_TRUE(harness_.server().WaitUntilEmpty(std::nullopt));
}

}  // namespace
}  // namespace affine
