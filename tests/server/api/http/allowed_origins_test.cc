#include "server/api/http/allowed_origins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/api/http/http_harness.h"

namespace affine {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;

constexpr char kAllowOrigin[] = "access-control-allow-origin";
constexpr char kPage[] = "Origin: https://chat.example\r\n";
constexpr char kOtherPage[] = "Origin: https://other.example\r\n";

ClientResponse Call(const ServiceHarness& harness, const std::string& request) {
  LoopbackClient client(harness.port());
  client.Send(request);
  return client.ReadResponse();
}

ApiOptions Allowing(std::vector<std::string> origins) {
  ApiOptions options{.version = "1.2.3"};
  options.allowed_origins = std::move(origins);
  return options;
}

std::string Preflight(const std::string& page) {
  return RequestText("OPTIONS", "/v1/completions", "",
                     page +
                         "Access-Control-Request-Method: POST\r\n"
                         "Access-Control-Request-Headers: authorization,content-type\r\n");
}

TEST(AllowedOriginsTest, ByDefaultNoPageIsToldThatItMayRead) {
  const ServiceHarness harness;
  const ClientResponse answer = Call(harness, RequestText("GET", "/v1/models", "", kPage));
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.headers, Not(Contains(Key(kAllowOrigin))));
  EXPECT_EQ(Call(harness, Preflight(kPage)).status, 405);
}

TEST(AllowedOriginsTest, APageThatIsNamedMayReadEveryAnswer) {
  const ServiceHarness harness(Allowing({"http://localhost:3000", "https://chat.example"}));
  const ClientResponse answer = Call(harness, RequestText("GET", "/v1/models", "", kPage));
  EXPECT_EQ(answer.headers.at(kAllowOrigin), "https://chat.example");
  EXPECT_EQ(answer.headers.at("vary"), "Origin");
  EXPECT_THAT(answer.headers.at("access-control-expose-headers"), HasSubstr("x-request-id"));
  const ClientResponse error = Call(harness, RequestText("POST", "/v1/completions", "{", kPage));
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.headers.at(kAllowOrigin), "https://chat.example");
}

TEST(AllowedOriginsTest, AnotherPageMayNotAndCachesKeepThemApart) {
  const ServiceHarness harness(Allowing({"https://chat.example"}));
  for (const char* page : {kOtherPage, ""}) {
    const ClientResponse answer = Call(harness, RequestText("GET", "/v1/models", "", page));
    EXPECT_EQ(answer.status, 200);
    EXPECT_THAT(answer.headers, Not(Contains(Key(kAllowOrigin))));
    EXPECT_EQ(answer.headers.at("vary"), "Origin");
  }
  const ClientResponse refusal = Call(harness, Preflight(kOtherPage));
  EXPECT_EQ(refusal.status, 400);
  EXPECT_THAT(refusal.body, HasSubstr("https://other.example"));
  EXPECT_THAT(refusal.body, HasSubstr("--allowed_origins"));
}

TEST(AllowedOriginsTest, ABrowsersQuestionNeedsNoKeyAndIsAnswered) {
  ApiOptions options = Allowing({"https://chat.example"});
  options.api_key = "s3cret";
  const ServiceHarness harness(options);
  const ClientResponse answer = Call(harness, Preflight(kPage));
  EXPECT_EQ(answer.status, 204);
  EXPECT_THAT(answer.body, IsEmpty());
  EXPECT_EQ(answer.headers.at(kAllowOrigin), "https://chat.example");
  EXPECT_THAT(answer.headers.at("access-control-allow-methods"), HasSubstr("POST"));
  EXPECT_EQ(answer.headers.at("access-control-allow-headers"), "authorization,content-type");
  const ClientResponse locked = Call(harness, RequestText("GET", "/v1/models", "", kPage));
  EXPECT_EQ(locked.status, 401);
  EXPECT_EQ(locked.headers.at(kAllowOrigin), "https://chat.example");
}

TEST(AllowedOriginsTest, TheStarAllowsEveryPage) {
  const ServiceHarness harness(Allowing({"*"}));
  const ClientResponse answer = Call(harness, RequestText("GET", "/health", "", kOtherPage));
  EXPECT_EQ(answer.headers.at(kAllowOrigin), "*");
  EXPECT_THAT(answer.headers, Not(Contains(Key("vary"))));
  EXPECT_EQ(Call(harness, Preflight(kOtherPage)).status, 204);
}

TEST(AllowedOriginsTest, AStreamCarriesThemToo) {
  ServiceHarness harness(Allowing({"https://chat.example"}));
  LoopbackClient client(harness.port());
  client.Send(
      RequestText("POST", "/v1/completions", R"({"prompt": "cab", "stream": true})", kPage));
  harness.engine().AwaitRequest(1);
  harness.engine().Emit(1, {'a'});
  harness.engine().Finish(1, FinishReason::kLength);
  const ClientResponse answer = client.ReadResponse();
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.headers.at("content-type"), HasSubstr("text/event-stream"));
  EXPECT_EQ(answer.headers.at(kAllowOrigin), "https://chat.example");
}

}  // namespace
}  // namespace affine
