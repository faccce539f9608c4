#include "server/api/http/attention_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/server/api/http/http_harness.h"
#include "tests/server/request/observed_heads.h"

namespace affine {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class AttentionRoutesTest : public ::testing::Test {
 protected:
  static ClientResponse Call(const ServiceHarness& harness, const std::string& request) {
    LoopbackClient client(harness.port());
    client.Send(request);
    return client.ReadResponse();
  }
  static ClientResponse Get(const ServiceHarness& harness, const std::string& target) {
    return Call(harness, RequestText("GET", target));
  }

  const FixedStabilitySource source_{{2, 2, 7, ObservedHeads()}};
  ServiceHarness harness_{{.version = "1"}, {}, &source_};
};

TEST_F(AttentionRoutesTest, ShowsTheMatricesOfTheModel) {
  for (const char* target : {"/v1/attention", "/v1/attention?model=t%69ny&x=1"}) {
    const ClientResponse response = Get(harness_, target);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.headers.at("content-type"), "application/json");
    const json body = json::parse(response.body);
    EXPECT_EQ(body["object"], "attention");
    EXPECT_EQ(body["model"], "tiny");
    EXPECT_EQ(body["observed_steps"], 7);
    EXPECT_EQ(body["num_layers"], 2);
    EXPECT_EQ(body["num_heads"], 2);
    EXPECT_EQ(body["queries"], (json{{4, 4}, {0, 2}}));
    EXPECT_EQ(body["largest_score"], (json{{3.5, 7.0}, {0.0, -1.0}}));
    EXPECT_EQ(body["alpha"], (json{{0.5, 0.75}, {0.0, 0.0}}));
    EXPECT_EQ(body["weight_sum_counts"][0][14], 4);
  }
}

TEST_F(AttentionRoutesTest, BeforeTheFirstObservedStepAllIsZero) {
  const FixedStabilitySource empty{{2, 2, 0, std::vector<HeadStability>(4)}};
  const ServiceHarness harness({.version = "1"}, {}, &empty);
  const json body = json::parse(Get(harness, "/v1/attention").body);
  EXPECT_EQ(body["observed_steps"], 0);
  EXPECT_EQ(body["queries"], (json{{0, 0}, {0, 0}}));
  EXPECT_EQ(body["alpha_ma"], (json{{0.0, 0.0}, {0.0, 0.0}}));
}

TEST_F(AttentionRoutesTest, AnUnknownModelIsNotFound) {
  const ClientResponse response = Get(harness_, "/v1/attention?model=huge");
  EXPECT_EQ(response.status, 404);
  const json error = json::parse(response.body).at("error");
  EXPECT_EQ(error["code"], "model_not_found");
  EXPECT_EQ(error["message"], "the model `huge` is not served here; served models: `tiny`");
  EXPECT_EQ(error["param"], "model");
}

TEST_F(AttentionRoutesTest, WhereNothingIsObservedTheFlagIsNamed) {
  const ServiceHarness harness;
  const ClientResponse response = Get(harness, "/v1/attention");
  EXPECT_EQ(response.status, 404);
  const json error = json::parse(response.body).at("error");
  EXPECT_EQ(error["code"], "not_found");
  EXPECT_THAT(std::string(error["message"]), HasSubstr("--stability_sample_every"));
}

TEST_F(AttentionRoutesTest, TakesGetAndHeadAlone) {
  LoopbackClient client(harness_.port());
  client.Send(RequestText("HEAD", "/v1/attention"));
  const ClientResponse head = client.ReadHead();
  EXPECT_EQ(head.status, 200);
  EXPECT_GT(std::stoi(head.headers.at("content-length")), 100);
  const ClientResponse posted = Call(harness_, RequestText("POST", "/v1/attention", "{}"));
  EXPECT_EQ(posted.status, 405);
  EXPECT_EQ(posted.headers.at("allow"), "GET, HEAD");
  EXPECT_EQ(Get(harness_, "/v1/attention/tiny").status, 404);
  EXPECT_THAT(Get(harness_, "/").body, HasSubstr("GET /v1/attention"));
}

}  // namespace
}  // namespace affine
