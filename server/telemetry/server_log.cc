#include "server/telemetry/server_log.h"

#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/pattern_formatter.h>

#include <chrono>
#include <ctime>
#include <mutex>
#include <utility>

namespace affine {
namespace {

std::string_view LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "info";
}

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

/// "2026-02-03T04:05:06.789Z".
std::string Timestamp(std::chrono::system_clock::time_point now) {
  using std::chrono::milliseconds;
  const auto since_epoch = std::chrono::duration_cast<milliseconds>(now.time_since_epoch());
  const std::time_t seconds = since_epoch.count() / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     since_epoch.count() % 1000);
}

std::string Dump(const LogFields& value) {
  return value.dump(-1, ' ', false, LogFields::error_handler_t::replace);
}

std::string JsonLine(std::string timestamp, LogLevel level, std::string_view logger,
                     std::string_view message, const LogFields& fields) {
  LogFields line = {{"timestamp", std::move(timestamp)},
                    {"level", LevelName(level)},
                    {"logger", logger},
                    {"message", message}};
  line.update(fields);
  return Dump(line);
}

/// `message` with control characters escaped as JSON would, so that a line stays one line.
std::string OneLine(std::string_view message) {
  const std::string quoted = Dump(LogFields(message));
  std::string line;
  for (size_t i = 1; i + 1 < quoted.size(); ++i) {
    const bool escaped_quote = quoted[i] == '\\' && quoted[i + 1] == '"';
    const bool escaped_slash = quoted[i] == '\\' && quoted[i + 1] == '\\';
    if (escaped_quote || escaped_slash) ++i;
    line += quoted[i];
  }
  return line;
}

std::string TextLine(std::string timestamp, LogLevel level, std::string_view logger,
                     std::string_view message, const LogFields& fields) {
  std::string line =
      fmt::format("{} {} {}: {}", timestamp, LevelName(level), logger, OneLine(message));
  for (const auto& [name, value] : fields.items()) line += " " + name + "=" + Dump(value);
  return line;
}

}  // namespace

ServerLog::ServerLog(LogOptions options, std::shared_ptr<spdlog::sinks::sink> sink)
    : options_(options),
      writer_(std::make_shared<spdlog::details::thread_pool>(options.queue_lines, 1)),
      lines_(std::make_shared<spdlog::async_logger>(
          "affine", std::move(sink), writer_, spdlog::async_overflow_policy::overrun_oldest)) {
  lines_->set_formatter(
      std::make_unique<spdlog::pattern_formatter>("%v", spdlog::pattern_time_type::utc));
  lines_->set_level(SpdlogLevel(options.level));
  lines_->flush_on(spdlog::level::err);
}

ServerLog::~ServerLog() { Close(); }

// The pool's destructor handles what is queued before its thread ends.
void ServerLog::Close() {
  const std::lock_guard lock(mutex_);
  lines_.reset();
  writer_.reset();
}

void ServerLog::Write(LogLevel level, std::string_view logger, std::string_view message,
                      const LogFields& fields) {
  const std::shared_lock lock(mutex_);
  if (!lines_ || !lines_->should_log(SpdlogLevel(level))) return;
  std::string timestamp = Timestamp(std::chrono::system_clock::now());
  const auto line = options_.format == LogFormat::kJson ? JsonLine : TextLine;
  lines_->log(SpdlogLevel(level), line(std::move(timestamp), level, logger, message, fields));
}

uint64_t ServerLog::dropped() const {
  const std::shared_lock lock(mutex_);
  return writer_ ? writer_->overrun_counter() : 0;
}

}  // namespace affine
