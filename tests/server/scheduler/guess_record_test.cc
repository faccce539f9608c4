#include "server/scheduler/guess_record.h"

#include <gtest/gtest.h>

namespace affine {
namespace {

TEST(GuessRecordTest, TrustsLongerMatchesMoreUntilItKnowsBetter) {
  const GuessRecord record;
  EXPECT_LT(record.hit_rate(1), record.hit_rate(2));
  EXPECT_LT(record.hit_rate(2), record.hit_rate(3));
  EXPECT_EQ(record.hit_rate(3), record.hit_rate(GuessRecord::kLongestMatch));
}

TEST(GuessRecordTest, LearnsOfEachLengthByItselfAndForgets) {
  GuessRecord record;
  for (int i = 0; i < 40; ++i) record.Note(1, true);
  for (int i = 0; i < 40; ++i) record.Note(3, false);
  EXPECT_GT(record.hit_rate(1), 0.95);
  EXPECT_DOUBLE_EQ(record.hit_rate(2), 0.4);
  EXPECT_LT(record.hit_rate(3), 0.05);
  for (int i = 0; i < 40; ++i) record.Note(1, i % 2 == 0);
  EXPECT_NEAR(record.hit_rate(1), 0.5, 0.1);
}

}  // namespace
}  // namespace affine
