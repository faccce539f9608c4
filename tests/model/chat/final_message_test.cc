#include "model/chat/final_message.h"

#include <gtest/gtest.h>

namespace affine {
namespace {

TEST(FinalMessageTest, EndsBehindTheLastOccurrence) {
  EXPECT_EQ(UpToFinalMessage("<a>yes</a><a>yes</a>", "yes"), "<a>yes</a><a>yes");
}

TEST(FinalMessageTest, KeepsWhiteSpaceThatTheTemplateKept) {
  EXPECT_EQ(UpToFinalMessage("<a> yes \n</a>", " yes \n"), "<a> yes \n");
  EXPECT_EQ(UpToFinalMessage("<a>yes</a>", " yes \n"), "<a>yes");
}

TEST(FinalMessageTest, IsNoneWithoutTheMessage) {
  EXPECT_EQ(UpToFinalMessage("<a>YES</a>", "yes"), std::nullopt);
}

TEST(FinalMessageTest, AnEmptyMessageEndsTheText) {
  EXPECT_EQ(UpToFinalMessage("<a></a>", ""), "<a></a>");
}

}  // namespace
}  // namespace affine
