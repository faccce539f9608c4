#include "server/api/http/http_router.h"

#include <gtest/gtest.h>

namespace affine {
namespace {

HttpRoute Route(const char* method, const char* path) {
  return {method, path, false,
          [](const HttpRequest&, HttpResponder&) -> RouteAnswer { return HttpResponse{}; }};
}

class HttpRouterTest : public ::testing::Test {
 protected:
  HttpRouterTest() {
    router_.Add(Route("GET", "/a"));
    router_.Add(Route("POST", "/a"));
    router_.Add(Route("GET", "/a/*"));
  }
  /// The path of the route, or the status of the refusal.
  std::string Found(const char* method, const char* target) {
    HttpRequest request;
    request.method = method;
    request.target = target;
    const auto found = router_.Find(request);
    if (const auto* route = std::get_if<const HttpRoute*>(&found)) {
      return (*route)->method + " " + (*route)->path;
    }
    return std::to_string(std::get<HttpResponse>(found).status);
  }
  HttpRouter router_;
};

TEST_F(HttpRouterTest, FindsByMethodAndPath) {
  EXPECT_EQ(Found("GET", "/a"), "GET /a");
  EXPECT_EQ(Found("HEAD", "/a"), "GET /a");
  EXPECT_EQ(Found("POST", "/a?q=/b"), "POST /a");
  EXPECT_EQ(Found("GET", "/a/org/name"), "GET /a/*");
}

TEST_F(HttpRouterTest, TellsAnUnknownPathFromAnUnknownMethod) {
  EXPECT_EQ(Found("GET", "/b"), "404");
  EXPECT_EQ(Found("GET", "/a/"), "404");
  EXPECT_EQ(Found("GET", "a"), "404");
  EXPECT_EQ(Found("PUT", "/a"), "405");
  EXPECT_EQ(Found("get", "/a"), "405");
}

TEST_F(HttpRouterTest, ListsTheMethodsOfAPath) {
  const auto found = router_.Find({.method = "PUT", .target = "/a"});
  EXPECT_EQ(std::get<HttpResponse>(found).headers, (HttpHeaders{{"Allow", "GET, HEAD, POST"}}));
}

TEST(PercentDecodedTest, DecodesEscapesAndKeepsTheRest) {
  EXPECT_EQ(PercentDecoded("a%2Fb%20c"), "a/b c");
  EXPECT_EQ(PercentDecoded("100%"), "100%");
  EXPECT_EQ(PercentDecoded("%4"), "%4");
  EXPECT_EQ(PercentDecoded("%zz%-1%41"), "%zz%-1A");
}

TEST(QueryParameterTest, FindsTheFirstOfItsNameAndDecodesIt) {
  const auto value = [](const char* target) {
    return QueryParameter({.method = "GET", .target = target}, "model");
  };
  EXPECT_EQ(value("/a?model=tiny"), "tiny");
  EXPECT_EQ(value("/a?x=1&model=a%2Fb%26c+d%2B&model=2"), "a/b&c d+");
  EXPECT_EQ(value("/a?model=a=b"), "a=b");
  EXPECT_EQ(value("/a?&&model=x&"), "x");
  for (const char* without :
       {"/a", "/a?", "/a?model", "/a?model=", "/a?models=x", "/a?x=model=y"}) {
    EXPECT_EQ(value(without), "") << without;
  }
}

}  // namespace
}  // namespace affine
