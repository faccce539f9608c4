#include "server/telemetry/process_metrics.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

namespace affine {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

// Fields of /proc/self/stat counted from the state, which is the third: see proc(5).
constexpr size_t kUserTicks = 11;
constexpr size_t kSystemTicks = 12;
constexpr size_t kStartTicks = 19;
constexpr size_t kVirtualBytes = 20;
constexpr size_t kResidentPages = 21;

std::vector<double> ReadStat(const std::string& proc) {
  std::ifstream file(proc + "/self/stat");
  std::string line;
  if (!std::getline(file, line)) return {};
  // The second field is the program's name in parentheses, which may itself hold any of them.
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(line.substr(name_end + 1));
  std::string state;
  rest >> state;
  std::vector<double> fields = {0};
  for (double value; rest >> value;) fields.push_back(value);
  return fields.size() > kResidentPages ? fields : std::vector<double>{};
}

std::optional<double> ReadBootTime(const std::string& proc) {
  std::ifstream file(proc + "/stat");
  std::string key;
  double value = 0;
  for (std::string line; std::getline(file, line);) {
    if (std::istringstream words(line); words >> key >> value && key == "btime") return value;
  }
  return std::nullopt;
}

std::optional<double> CountOpenFiles(const std::string& proc) {
  std::error_code error;
  std::filesystem::directory_iterator entries(proc + "/self/fd", error);
  if (error) return std::nullopt;
  return static_cast<double>(std::distance(begin(entries), end(entries)));
}

std::optional<double> ReadMaxFiles(const std::string& proc) {
  std::ifstream file(proc + "/self/limits");
  constexpr std::string_view kKey = "Max open files";
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(kKey, 0) != 0) continue;
    double soft_limit = 0;
    if (std::istringstream(line.substr(kKey.size())) >> soft_limit) return soft_limit;
  }
  return std::nullopt;
}

MetricFamily Family(const char* name, const char* help, MetricType type, double value) {
  MetricFamily family{name, help, type, {}};
  prometheus::ClientMetric metric;
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  family.metric.push_back(std::move(metric));
  return family;
}

}  // namespace

ProcessMetrics::ProcessMetrics(std::string proc) : proc_(std::move(proc)) {}

std::vector<MetricFamily> ProcessMetrics::Collect() const {
  std::vector<MetricFamily> families;
  const double ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  if (const auto stat = ReadStat(proc_); !stat.empty()) {
    families.push_back(Family("process_cpu_seconds_total", "User and system time spent.",
                              MetricType::Counter,
                              (stat[kUserTicks] + stat[kSystemTicks]) / ticks_per_second));
    families.push_back(Family("process_resident_memory_bytes", "Resident memory.",
                              MetricType::Gauge,
                              stat[kResidentPages] * static_cast<double>(sysconf(_SC_PAGESIZE))));
    families.push_back(Family("process_virtual_memory_bytes", "Virtual memory.", MetricType::Gauge,
                              stat[kVirtualBytes]));
    if (const auto boot = ReadBootTime(proc_)) {
      families.push_back(Family("process_start_time_seconds", "Start, in Unix time.",
                                MetricType::Gauge, *boot + stat[kStartTicks] / ticks_per_second));
    }
  }
  if (const auto open = CountOpenFiles(proc_)) {
    families.push_back(
        Family("process_open_fds", "Open file descriptors.", MetricType::Gauge, *open));
  }
  if (const auto limit = ReadMaxFiles(proc_)) {
    families.push_back(Family("process_max_fds", "Most file descriptors that may be open.",
                              MetricType::Gauge, *limit));
  }
  return families;
}

}  // namespace affine
