#include "server/api/http/http_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/server/api/http/http_harness.h"

namespace affine {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class HttpServiceTest : public ::testing::Test {
 protected:
  ClientResponse Call(const std::string& request) {
    LoopbackClient client(harness_.port());
    client.Send(request);
    return client.ReadResponse();
  }
  ClientResponse Get(const std::string& path) { return Call(RequestText("GET", path)); }
  ClientResponse Post(const std::string& path, const std::string& body) {
    return Call(RequestText("POST", path, body));
  }
  ServiceHarness harness_;
};

json ErrorOf(const ClientResponse& response) { return json::parse(response.body).at("error"); }

TEST_F(HttpServiceTest, ListsTheModels) {
  const ClientResponse response = Get("/v1/models");
  EXPECT_EQ(response.headers.at("content-type"), "application/json");
  EXPECT_EQ(json::parse(response.body), json::parse(R"({"object": "list", "data": [{"id": "tiny",
      "object": "model", "created": 1700000000, "owned_by": "affine_serve", "root": "tiny",
      "parent": null, "max_model_len": 64, "dtype": "float32", "weights": "float32"}]})"));
}

TEST_F(HttpServiceTest, DescribesOneModel) {
  EXPECT_EQ(json::parse(Get("/v1/models/tiny?x=1").body)["id"], "tiny");
  EXPECT_EQ(json::parse(Get("/v1/models/t%69ny").body)["id"], "tiny");
  const ClientResponse response = Get("/v1/models/huge");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(ErrorOf(response)["code"], "model_not_found");
  EXPECT_THAT(std::string(ErrorOf(response)["message"]), HasSubstr("tiny"));
}

TEST_F(HttpServiceTest, DescribesEveryRouteAndNoOther) {
  const json description = json::parse(Get("/openapi.json").body);
  EXPECT_EQ(description["openapi"], "3.1.0");
  EXPECT_EQ(description["info"]["version"], "1.2.3");
  std::set<std::string> described{"GET /", "GET /openapi.json"};
  for (const auto& [path, methods] : description["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      described.insert((method == "get" ? "GET " : "POST ") + path);
    }
  }
  std::set<std::string> served;
  const json index = json::parse(Get("/").body);
  for (std::string route : index["http"]) {
    if (route.ends_with("/*")) route.replace(route.size() - 1, 1, "{model}");
    served.insert(route);
  }
  EXPECT_EQ(described, served);
}

TEST_F(HttpServiceTest, TokenizesAndDetokenizes) {
  harness_.tokenizer().AddBos();
  const int32_t bos = harness_.tokenizer().first_special();
  EXPECT_EQ(json::parse(Post("/tokenize", R"({"model": "tiny", "prompt": "cab"})").body),
            (json{{"count", 3},
                  {"max_model_len", 64},
                  {"tokens", {bos, 'c', 256}},
                  {"token_strs", nullptr}}));
  const json plain = json::parse(
      Post("/tokenize",
           R"({"prompt": "cab", "add_special_tokens": false, "return_token_strs": true})")
          .body);
  EXPECT_EQ(plain["tokens"], (json{'c', 256}));
  EXPECT_EQ(plain["token_strs"], (json{"c", "ab"}));
  const json text = json::parse(Post("/detokenize", json{{"tokens", {bos, 'c', 256}}}.dump()).body);
  EXPECT_EQ(text, (json{{"prompt", "<bos>cab"}}));
  const json chat =
      json::parse(Post("/tokenize", R"({"messages": [{"role": "u", "content": "c"}]})").body);
  EXPECT_EQ(chat["tokens"], (json{'u', ':', 'c', ';', '>'}));
}

TEST_F(HttpServiceTest, NamesWhatIsWrongWithATokenizerCall) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"/tokenize", R"({})", "`prompt` is missing; it must be a string"},
      {"/tokenize", R"({"prompt": 5})", "`prompt` is 5; it must be a string"},
      {"/tokenize", R"({"messages": []})", "`messages` has 0 messages"},
      {"/tokenize", R"({"messages": [5]})", "`messages[0]` is 5"},
      {"/tokenize", R"({"messages": [], "prompt": "x"})", "both given"},
      {"/tokenize", R"({"prompt": "x", "add_special_tokens": 1})", "it must be true or false"},
      {"/tokenize", R"([])", "the body is []; it must be a JSON object"},
      {"/detokenize", R"({})", "`tokens` is missing; it must be an array of token ids"},
      {"/detokenize", R"({"tokens": "x"})", "`tokens` is \"x\"; it must be an array of integers"},
      {"/detokenize", R"({"tokens": [1, 261]})",
       "`tokens[1]` is 261; it must be a token id in [0, 260]"},
      {"/detokenize", R"({"tokens": [-1]})", "`tokens[0]` is -1"},
  };
  for (const auto& [path, body, message] : cases) {
    const ClientResponse response = Post(path, body);
    EXPECT_EQ(response.status, 400) << body;
    EXPECT_THAT(std::string(ErrorOf(response)["message"]), HasSubstr(message));
  }
  EXPECT_EQ(Post("/tokenize", R"({"prompt": "x", "model": "huge"})").status, 404);
  EXPECT_EQ(Post("/detokenize", R"({"tokens": [], "model": "huge"})").status, 404);
}

TEST_F(HttpServiceTest, ARequestThatMakesTheServerThrowEndsThatRequestAlone) {
  const std::string bad = json{{"prompt", ByteTokenizer::kUnencodable}}.dump();
  for (const char* path : {"/tokenize", "/v1/completions"}) {
    const ClientResponse response = Post(path, bad);
    EXPECT_EQ(response.status, 500) << path;
    EXPECT_THAT(std::string(ErrorOf(response)["message"]),
                HasSubstr("the tokenizer is out of order"));
  }
  EXPECT_EQ(Post("/tokenize", R"({"prompt": "a"})").status, 200);
}

TEST_F(HttpServiceTest, AnswersProbes) {
  for (const char* path : {"/health", "/livez", "/ready", "/readyz"}) {
    EXPECT_EQ(Get(path).status, 200) << path;
  }
  EXPECT_EQ(Get("/version").body, R"({"version":"1.2.3"})");
  const ClientResponse metrics = Get("/metrics");
  EXPECT_EQ(metrics.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(metrics.body, "affine_up 1\n");
  EXPECT_THAT(Get("/").body, HasSubstr("POST /v1/completions"));
  EXPECT_TRUE(harness_.observer().refusals().empty());
}

TEST_F(HttpServiceTest, StaysLiveButNotReadyWhileDraining) {
  harness_.models().CloseForDrain();
  EXPECT_EQ(Get("/health").status, 200);
  const ClientResponse ready = Get("/ready");
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(ready.headers.at("retry-after"), "1");
  EXPECT_THAT(std::string(json::parse(ready.body)["missing"]), HasSubstr("shutting down"));
  const ClientResponse refused = Post("/v1/completions", R"({"prompt": "x"})");
  EXPECT_EQ(refused.status, 503);
  EXPECT_GE(std::stoi(refused.headers.at("retry-after")), 1);
}

TEST_F(HttpServiceTest, SaysThatThereIsNoSuchPathOrMethod) {
  const ClientResponse missing = Get("/v2/else");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(ErrorOf(missing),
            (json{{"message", "there is no \"/v2/else\"; GET / lists the endpoints"},
                  {"type", "invalid_request_error"},
                  {"param", nullptr},
                  {"code", "not_found"}}));
  const ClientResponse wrong = Get("/v1/completions");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.at("allow"), "POST");
  EXPECT_EQ(Call(RequestText("DELETE", "/health")).headers.at("allow"), "GET, HEAD");
}

TEST_F(HttpServiceTest, CarriesTheRequestIdThrough) {
  LoopbackClient client(harness_.port());
  client.Send(RequestText("GET", "/health", "", "X-Request-ID: mine-1\r\n"));
  EXPECT_EQ(client.ReadResponse().headers["x-request-id"], "mine-1");
  client.Send(RequestText("GET", "/health"));
  EXPECT_EQ(client.ReadResponse().headers["x-request-id"].size(), 32u);
  client.Send(RequestText("GET", "/nowhere", "", "x-request-id: mine-2\r\n"));
  EXPECT_EQ(client.ReadResponse().headers["x-request-id"], "mine-2");
  ASSERT_EQ(harness_.observer().refusals().size(), 1u);
  EXPECT_EQ(harness_.observer().refusals()[0].first, "mine-2");
  client.Send(RequestText("GET", "/health", "", "x-request-id: " + std::string(257, 'x') + "\r\n"));
  const ClientResponse refused = client.ReadResponse();
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(ErrorOf(refused)["param"], "x-request-id");
}

TEST(HttpServiceKeyTest, GuardsTheApiButNotTheProbes) {
  ServiceHarness harness({.version = "1", .api_key = "sesame"});
  const auto status = [&](const std::string& method, const std::string& path,
                          const std::string& headers) {
    LoopbackClient client(harness.port());
    client.Send(RequestText(method, path, method == "POST" ? R"({"prompt": "x"})" : "", headers));
    return client.ReadResponse().status;
  };
  for (const char* path :
       {"/health", "/livez", "/ready", "/readyz", "/metrics", "/version", "/", "/openapi.json"}) {
    EXPECT_EQ(status("GET", path, ""), 200) << path;
  }
  EXPECT_EQ(status("GET", "/v1/models", ""), 401);
  EXPECT_EQ(status("GET", "/v1/models", "Authorization: Bearer wrong!\r\n"), 401);
  EXPECT_EQ(status("GET", "/v1/models", "Authorization: Basic sesame\r\n"), 401);
  EXPECT_EQ(status("GET", "/v1/models", "Authorization: Bearer sesame\r\n"), 200);
  EXPECT_EQ(status("GET", "/v1/attention", ""), 401);
  for (const char* path : {"/v1/completions", "/v1/chat/completions", "/tokenize", "/detokenize"}) {
    EXPECT_EQ(status("POST", path, ""), 401) << path;
  }
  EXPECT_EQ(harness.engine().submitted(), 0u);
  LoopbackClient client(harness.port());
  client.Send(RequestText("GET", "/v1/models"));
  const ClientResponse response = client.ReadResponse();
  EXPECT_EQ(response.headers.at("www-authenticate"), "Bearer");
  EXPECT_EQ(ErrorOf(response)["code"], "invalid_api_key");
}

TEST(HttpServiceFaultTest, AFaultInARouteIsAnswered) {
  ByteTokenizer tokenizer;
  ServedModels models({"tiny"});
  RecordingApiObserver observer;
  HttpService service({}, models, kSteadyClock, observer,
                      []() -> std::string { throw std::runtime_error("no page"); });
  HttpHarness http(service);
  LoopbackClient client(http.port());
  client.Send(RequestText("GET", "/metrics") + RequestText("GET", "/health"));
  const ClientResponse response = client.ReadResponse();
  EXPECT_EQ(response.status, 500);
  EXPECT_THAT(std::string(ErrorOf(response)["message"]), HasSubstr("no page"));
  EXPECT_EQ(client.ReadResponse().status, 200);
}

TEST(HttpServiceLoadingTest, SaysWhichModelIsStillLoading) {
  ServedModels models({"tiny"});
  RecordingApiObserver observer;
  HttpService service({}, models, kSteadyClock, observer, [] { return std::string(); });
  HttpHarness http(service);
  LoopbackClient client(http.port());
  client.Send(RequestText("GET", "/readyz"));
  const ClientResponse response = client.ReadResponse();
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(std::string(json::parse(response.body)["missing"]), HasSubstr("tiny"));
}

}  // namespace
}  // namespace affine
