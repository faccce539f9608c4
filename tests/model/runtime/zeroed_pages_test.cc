#include "model/runtime/zeroed_pages.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <new>

namespace affine {
namespace {

TEST(ZeroedPagesTest, AreZeroAndWritable) {
  constexpr int64_t kBytes = (5 << 20) + 3;
  const ZeroedPages pages(kBytes);
  for (int64_t i = 0; i < kBytes; i += 4099) ASSERT_EQ(pages.data()[i], 0) << i;
  pages.data()[kBytes - 1] = 7;
  EXPECT_EQ(pages.data()[kBytes - 1], 7);
}

TEST(ZeroedPagesTest, MoreThanTheAddressSpaceIsRefused) {
  EXPECT_THROW(ZeroedPages(std::numeric_limits<int64_t>::max()), std::bad_alloc);
}

TEST(ZeroedPagesTest, CopiesShareTheMemoryAndOutliveTheFirst) {
  auto pages = std::make_unique<ZeroedPages>(4096);
  const ZeroedPages copy = *pages;
  pages->data()[0] = 1;
  pages.reset();
  EXPECT_EQ(copy.data()[0], 1);
}

}  // namespace
}  // namespace affine
