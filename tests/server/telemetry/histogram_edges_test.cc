#include "server/telemetry/histogram_edges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace affine {
namespace {

void ExpectContains(std::span<const double> edges, const std::vector<double>& theirs) {
  EXPECT_TRUE(std::is_sorted(edges.begin(), edges.end(), std::less_equal<double>()));
  for (const double edge : theirs) {
    EXPECT_EQ(std::count(edges.begin(), edges.end(), edge), 1) << "edge " << edge;
  }
  EXPECT_LT(edges.front(), theirs.front()) << "nothing finer below";
}

TEST(HistogramEdgesTest, FirstTokenEdgesContainThoseOfVllm) {
  ExpectContains(FirstTokenEdges(),
                 {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,  0.5,   0.75,
                  1.0,   2.5,   5.0,  7.5,  10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0});
}

TEST(HistogramEdgesTest, TokenGapEdgesContainThoseOfVllm) {
  ExpectContains(TokenGapEdges(), {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75,
                                   1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0});
}

TEST(HistogramEdgesTest, LatencyEdgesContainThoseOfVllm) {
  ExpectContains(LatencyEdges(),
                 {0.3,  0.5,  0.8,  1.0,  1.5,   2.0,   2.5,   5.0,   10.0,   15.0,  20.0,
                  30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0});
}

TEST(HistogramEdgesTest, CountEdgesContainThoseOfVllm) {
  const auto contains = [](std::span<const double> edges, double edge) {
    return std::count(edges.begin(), edges.end(), edge) == 1;
  };
  for (double edge : {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}) {
    EXPECT_TRUE(contains(StepTokenEdges(), edge)) << edge;
  }
  for (double power = 1; power <= 100000; power *= 10) {
    for (double edge : {power, 2 * power, 5 * power}) {
      EXPECT_TRUE(contains(TokenCountEdges(), edge)) << edge;
    }
  }
}

TEST(HistogramEdgesTest, StepEdgesRise) {
  EXPECT_TRUE(std::is_sorted(StepEdges().begin(), StepEdges().end(), std::less_equal<double>()));
  EXPECT_TRUE(
      std::is_sorted(BatchSizeEdges().begin(), BatchSizeEdges().end(), std::less_equal<double>()));
}

}  // namespace
}  // namespace affine
