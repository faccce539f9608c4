#include "server/app/nearest_name.h"

#include <gtest/gtest.h>

namespace affine {
namespace {

TEST(NearestNameTest, CountsEditsAndSwaps) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("port", "port"), 0);
  EXPECT_EQ(EditDistance("prot", "port"), 1);
  EXPECT_EQ(EditDistance("host", "port"), 2);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
}

TEST(NearestNameTest, FindsWhatWasMeant) {
  const std::vector<std::string> names = {"port", "host", "max_num_seqs", "max_num_queued_reqs"};
  EXPECT_EQ(NearestName("prot", names), "port");
  EXPECT_EQ(NearestName("max_num_seq", names), "max_num_seqs");
  EXPECT_EQ(NearestName("max_num_queue_reqs", names), "max_num_queued_reqs");
}

TEST(NearestNameTest, SuggestsNothingWhenNothingIsNear) {
  EXPECT_EQ(NearestName("tensor_parallel_size", {"port", "host"}), "");
  EXPECT_EQ(NearestName(std::string(100000, 'a'), {"port"}), "");
}

}  // namespace
}  // namespace affine
