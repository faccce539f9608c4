#include "server/telemetry/server_log.h"

#include <gtest/gtest.h>

#include <memory>
#include <regex>

#include "server/telemetry/log_metrics.h"
#include "tests/server/telemetry/line_sink.h"

namespace affine {
namespace {

/// What one Write leaves on the output.
std::string LineOf(LogFormat format, std::string_view message, const LogFields& fields) {
  auto sink = std::make_shared<LineSink>();
  LogOptions options;
  options.format = format;
  ServerLog log(options, sink);
  log.Write(LogLevel::kWarning, "affine.test", message, fields);
  log.Close();
  EXPECT_EQ(sink->lines().size(), 1u);
  return sink->lines().at(0);
}

TEST(ServerLogTest, AJsonLineHoldsTimeLevelLoggerMessageAndFieldsInOrder) {
  const std::string line = LineOf(LogFormat::kJson, "hello", {{"b", 1}, {"a", "x"}});
  ASSERT_EQ(line.back(), '\n');
  const auto json = nlohmann::ordered_json::parse(line);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"timestamp", "level", "logger", "message", "b", "a"}));
  EXPECT_EQ(json["level"], "warning");
  EXPECT_EQ(json["logger"], "affine.test");
  EXPECT_EQ(json["message"], "hello");
  const std::regex rfc3339(R"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z)");
  EXPECT_TRUE(std::regex_match(json["timestamp"].get<std::string>(), rfc3339)) << line;
}

TEST(ServerLogTest, HostileTextStaysInsideItsField) {
  const std::string hostile =
      std::string("\"},\n{\"level\":\"error\\ \xff\xfe \xe2\x82 \x1b[31m") + '\0' + "{}%v";
  const std::string line = LineOf(LogFormat::kJson, "{} %v", {{"id", hostile}});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["level"], "warning");
  EXPECT_EQ(json["message"], "{} %v");
  const std::string id = json["id"];
  EXPECT_EQ(id.substr(0, 10), hostile.substr(0, 10));
  EXPECT_EQ(id.substr(id.size() - 4), "{}%v");
}

TEST(ServerLogTest, ATextLineStaysOneLine) {
  const std::string line =
      LineOf(LogFormat::kText, "it said \"no\"\r\nat C:\\x", {{"id", "a\nb\" c=\"d"}, {"n", 3}});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(line.find('\r'), std::string::npos);
  EXPECT_NE(line.find(R"(warning affine.test: it said "no"\r\nat C:\x id="a\nb\" c=\"d" n=3)"),
            std::string::npos)
      << line;
}

TEST(ServerLogTest, LeavesOutWhatIsBelowItsLevel) {
  auto sink = std::make_shared<LineSink>();
  LogOptions options;
  options.level = LogLevel::kWarning;
  ServerLog log(options, sink);
  log.Write(LogLevel::kInfo, "l", "quiet");
  log.Write(LogLevel::kError, "l", "loud");
  log.Close();
  ASSERT_EQ(sink->lines().size(), 1u);
  EXPECT_NE(sink->lines()[0].find("loud"), std::string::npos);
}

TEST(ServerLogTest, AStuckOutputCostsOldLinesAndNeverTheWriter) {
  auto sink = std::make_shared<LineSink>();
  LogOptions options;
  options.queue_lines = 4;
  ServerLog log(options, sink);
  sink->Shut();
  log.Write(LogLevel::kInfo, "l", "first");
  sink->WaitForWriter();  // it took the first line; the queue is empty
  for (int i = 0; i < 10; ++i) log.Write(LogLevel::kInfo, "l", "line", {{"i", i}});
  EXPECT_EQ(log.dropped(), 6u);
  EXPECT_EQ(LogMetrics(log).Collect().at(0).metric.at(0).counter.value, 6);
  sink->Open();
  log.Close();
  const auto lines = sink->lines();
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_NE(lines[1].find("\"i\":6"), std::string::npos) << lines[1];
  EXPECT_NE(lines[4].find("\"i\":9"), std::string::npos) << lines[4];
}

TEST(ServerLogTest, LinesAfterCloseAreLostAndDoNoHarm) {
  auto sink = std::make_shared<LineSink>();
  ServerLog log({}, sink);
  log.Write(LogLevel::kInfo, "l", "before");
  log.Close();
  log.Write(LogLevel::kInfo, "l", "after");
  EXPECT_EQ(sink->lines().size(), 1u);
  EXPECT_EQ(log.dropped(), 0u);
}

}  // namespace
}  // namespace affine
