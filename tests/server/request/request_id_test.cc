#include "server/request/request_id.h"

#include <gtest/gtest.h>

#include <set>

namespace affine {
namespace {

TEST(RequestIdTest, NewIdsDifferAndAreValid) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(NewRequestId());
  EXPECT_EQ(ids.size(), 1000u);
  for (const std::string& id : ids) {
    EXPECT_EQ(id.size(), 32u);
    EXPECT_FALSE(CheckRequestId(id));
  }
}

TEST(RequestIdTest, TakesVisibleAsciiUpToItsLimit) {
  EXPECT_FALSE(CheckRequestId(""));
  EXPECT_FALSE(CheckRequestId("!req-42~"));
  EXPECT_FALSE(CheckRequestId(std::string(256, 'a')));
}

TEST(RequestIdTest, SaysWhatIsWrongWithAnId) {
  const auto too_long = CheckRequestId(std::string(257, 'a'));
  ASSERT_TRUE(too_long);
  EXPECT_EQ(too_long->message,
            "`request_id` has 257 bytes; it must be at most 256 bytes of visible ASCII (0x21 to "
            "0x7e)");
  for (const std::string id : {"a b", "a\nb", "a\x7f", "a\xc3\xa9"}) {
    const auto error = CheckRequestId(id);
    ASSERT_TRUE(error) << id;
    EXPECT_EQ(error->cause, ErrorCause::kBadInput);
    EXPECT_EQ(error->param, "request_id");
  }
  EXPECT_EQ(CheckRequestId("a b")->message.substr(0, 49),
            "`request_id` has the byte 32 at position 1; it mu");
}

}  // namespace
}  // namespace affine
