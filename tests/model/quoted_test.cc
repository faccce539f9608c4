#include "model/quoted.h"

#include <gtest/gtest.h>

namespace affine {
namespace {

TEST(QuotedTest, EscapesWhatCouldDisturbATerminalAndCutsLongTexts) {
  EXPECT_EQ(Quoted("plain name"), R"("plain name")");
  EXPECT_EQ(Quoted("\x1b[31m\"\xff\n"), R"("\x1b[31m\x22\xff\x0a")");
  EXPECT_EQ(Quoted(std::string(121, 'a')), '"' + std::string(120, 'a') + "...\"");
}

}  // namespace
}  // namespace affine
