#include "server/api/http/http_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace affine {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

std::string HeadOf(const HttpResponse& response, const HttpFraming& framing) {
  std::string out;
  AppendHead(response, framing, out);
  return out;
}

TEST(HttpHeadTest, WritesStatusHeadersAndLength) {
  EXPECT_THAT(HeadOf({.status = 429, .headers = {{"Retry-After", "3"}}, .body = "four"}, {}),
              MatchesRegex(
                  "HTTP/1.1 429 Too Many Requests\r\nDate: ..., .. ... .... ..:..:.. GMT\r\n"
                  "Content-Type: application/json\r\nRetry-After: 3\r\nContent-Length: 4\r\n\r\n"));
}

TEST(HttpHeadTest, FramesByWhatTheClientSpeaks) {
  EXPECT_THAT(HeadOf({}, {.sized = false}), HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(HeadOf({}, {.http10 = true, .sized = false}), Not(HasSubstr("chunked")));
  EXPECT_THAT(HeadOf({}, {.http10 = true}), HasSubstr("Connection: keep-alive\r\n"));
  EXPECT_THAT(HeadOf({}, {.keep_alive = false}), HasSubstr("Connection: close\r\n"));
}

TEST(HttpHeadTest, AHeaderCannotBeEndedFromWithin) {
  EXPECT_THAT(HeadOf({.headers = {{"X", "a\r\nSet-Cookie: b"}}}, {}),
              HasSubstr("\r\nX: aSet-Cookie: b\r\n"));
}

TEST(HttpHeadTest, WritesChunksWithTheirLengthInHexadecimal) {
  std::string out;
  AppendChunk(std::string(26, 'x'), out);
  EXPECT_EQ(out, "1a\r\n" + std::string(26, 'x') + "\r\n");
}

}  // namespace
}  // namespace affine
