#include "server/telemetry/process_metrics.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>

namespace affine {
namespace {

std::map<std::string, double> Read(const ProcessMetrics& metrics) {
  std::map<std::string, double> values;
  for (const auto& family : metrics.Collect()) {
    const auto& metric = family.metric.at(0);
    values[family.name] =
        family.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value;
  }
  return values;
}

TEST(ProcessMetricsTest, SeesThisProcess) {
  auto values = Read(ProcessMetrics());
  EXPECT_EQ(values.size(), 6u);
  EXPECT_GT(values["process_resident_memory_bytes"], 1 << 20);
  EXPECT_GE(values["process_virtual_memory_bytes"], values["process_resident_memory_bytes"]);
  EXPECT_NEAR(values["process_start_time_seconds"], static_cast<double>(std::time(nullptr)), 600);
  EXPECT_GT(values["process_max_fds"], values["process_open_fds"]);
}

TEST(ProcessMetricsTest, SeesAFileBeingOpened) {
  const double before = Read(ProcessMetrics())["process_open_fds"];
  const int file = open("/dev/null", O_RDONLY);
  EXPECT_EQ(Read(ProcessMetrics())["process_open_fds"], before + 1);
  close(file);
}

TEST(ProcessMetricsTest, ANameWithParenthesesAndSpacesDoesNotShiftTheFields) {
  const std::string proc = testing::TempDir() + "proc-" + std::to_string(getpid());
  std::filesystem::create_directories(proc + "/self");
  std::ofstream(proc + "/self/stat")
      << "1 (a ) S 9 (b) R 2 3 4 5 6 7 8 9 10 11 250 50 14 15 16 17 18 19 1000 4096 7 0 0\n";
  std::ofstream(proc + "/stat") << "cpu 1 2 3\nbtime 1000000\n";
  const auto values = Read(ProcessMetrics(proc));
  std::filesystem::remove_all(proc);
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  EXPECT_DOUBLE_EQ(values.at("process_cpu_seconds_total"), 300 / ticks);
  EXPECT_DOUBLE_EQ(values.at("process_start_time_seconds"), 1000000 + 1000 / ticks);
  EXPECT_DOUBLE_EQ(values.at("process_virtual_memory_bytes"), 4096);
  EXPECT_DOUBLE_EQ(values.at("process_resident_memory_bytes"),
                   7.0 * static_cast<double>(sysconf(_SC_PAGESIZE)));
}

TEST(ProcessMetricsTest, WhatCanNotBeReadIsLeftOut) {
  EXPECT_TRUE(Read(ProcessMetrics("/nonexistent")).empty());
}

}  // namespace
}  // namespace affine
