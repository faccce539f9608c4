#include "model/tokenizer/split_behavior.h"

#include <gtest/gtest.h>

namespace affine {
namespace {

using Pieces = std::vector<std::string_view>;

Pieces Apply(SplitBehavior behavior, std::vector<SplitPart> parts) {
  Pieces pieces = {"before"};  // what stands there already stays
  ApplySplitBehavior("abcdef", behavior, &parts, &pieces);
  pieces.erase(pieces.begin());
  return pieces;
}

TEST(SplitBehaviorTest, ARunOfMatchesJoinsOnlyWhereItMay) {
  const std::vector<SplitPart> parts = {{0, 1, true}, {1, 2, true}, {2, 3, false},
                                        {3, 4, true}, {4, 5, true}, {5, 6, false}};
  EXPECT_EQ(Apply(SplitBehavior::kIsolated, parts), (Pieces{"a", "b", "c", "d", "e", "f"}));
  EXPECT_EQ(Apply(SplitBehavior::kRemoved, parts), (Pieces{"c", "f"}));
  EXPECT_EQ(Apply(SplitBehavior::kMergedWithPrevious, parts), (Pieces{"a", "b", "cd", "e", "f"}));
  EXPECT_EQ(Apply(SplitBehavior::kMergedWithNext, parts), (Pieces{"a", "bc", "d", "ef"}));
  EXPECT_EQ(Apply(SplitBehavior::kContiguous, parts), (Pieces{"ab", "c", "de", "f"}));
}

TEST(SplitBehaviorTest, EmptyPartsTakePartButMakeNoPieces) {
  const std::vector<SplitPart> parts = {{0, 2, false}, {2, 2, true}, {2, 6, false}};
  EXPECT_EQ(Apply(SplitBehavior::kIsolated, parts), (Pieces{"ab", "cdef"}));
  EXPECT_EQ(Apply(SplitBehavior::kContiguous, parts), (Pieces{"ab", "cdef"}));
  EXPECT_EQ(Apply(SplitBehavior::kMergedWithNext, parts), (Pieces{"ab", "cdef"}));
}

TEST(SplitBehaviorTest, NoPartsMakeNoPieces) {
  EXPECT_EQ(Apply(SplitBehavior::kContiguous, {}), Pieces{});
  EXPECT_EQ(Apply(SplitBehavior::kRemoved, {{0, 6, true}}), Pieces{});
}

}  // namespace
}  // namespace affine
