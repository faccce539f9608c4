#include "server/telemetry/histogram_edges.h"

namespace affine {
namespace {

constexpr double kFirstToken[] = {0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02,
                                  0.03,   0.04,  0.05,  0.06,  0.08,  0.1,    0.15, 0.2,   0.25,
                                  0.35,   0.5,   0.75,  1,     1.5,   2.5,    5,    7.5,   10,
                                  20,     40,    80,    160,   640,   2560};

constexpr double kTokenGap[] = {0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008,
                                0.01,   0.012, 0.015, 0.02,  0.025, 0.035, 0.05,  0.075,
                                0.1,    0.15,  0.2,   0.3,   0.4,   0.5,   0.75,  1,
                                2.5,    5,     7.5,   10,    20,    40,    80};

constexpr double kLatency[] = {
    0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1,    1.5, 2,
    2.5,    5,      10,    15,     20,    30,   40,    50,   60,  120, 240, 480, 960, 1920, 7680};

constexpr double kStep[] = {0.0001, 0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008,
                            0.01,   0.0125, 0.015, 0.02,  0.03,  0.05,  0.075, 0.1,   0.15,
                            0.2,    0.3,    0.5,   1,     2.5,   5,     10};

constexpr double kStepTokens[] = {1,   2,   4,    8,    16,   32,   64,   128,
                                  256, 512, 1024, 2048, 4096, 8192, 16384};

constexpr double kBatchSize[] = {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024};

constexpr double kTokenCount[] = {1,     2,      5,      10,     20,     50,    100,
                                  200,   500,    1000,   2000,   5000,   10000, 20000,
                                  50000, 100000, 200000, 500000, 1000000};

}  // namespace

std::span<const double> FirstTokenEdges() { return kFirstToken; }
std::span<const double> TokenGapEdges() { return kTokenGap; }
std::span<const double> LatencyEdges() { return kLatency; }
std::span<const double> StepEdges() { return kStep; }
std::span<const double> StepTokenEdges() { return kStepTokens; }
std::span<const double> BatchSizeEdges() { return kBatchSize; }
std::span<const double> TokenCountEdges() { return kTokenCount; }

}  // namespace affine
