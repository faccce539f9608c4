// The process's own log: whole lines, written by a thread of their own.
#pragma once

#include <spdlog/sinks/sink.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <shared_mutex>
#include <string>
#include <string_view>

namespace spdlog {
class async_logger;
namespace details {
class thread_pool;
}
}  // namespace spdlog

namespace affine {

enum class LogFormat { kJson, kText };
enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct LogOptions {
  LogFormat format = LogFormat::kJson;
  LogLevel level = LogLevel::kInfo;  // lines below it are left out
  size_t queue_lines = 8192;         // lines that may wait for the writer
};

/// Fields of one line, in the order in which they are to be shown. Strings may be anything that a
/// client sent: they are escaped, and invalid UTF-8 is replaced.
using LogFields = nlohmann::ordered_json;

/// Thread-safe. Write never waits for the output: a full queue drops its oldest line, and
/// dropped() counts that. A JSON line has timestamp (RFC 3339, UTC), level, logger, message, then
/// the fields; a text line has the same, the fields as name=value with strings quoted.
class ServerLog {
 public:
  /// `sink` gets one line at a time, without its end, from the writer's thread alone.
  ServerLog(LogOptions options, std::shared_ptr<spdlog::sinks::sink> sink);
  ~ServerLog();  // Close
  /// Writes out everything that is queued; later lines are lost.
  void Close();
  void Write(LogLevel level, std::string_view logger, std::string_view message,
             const LogFields& fields = LogFields::object());
  /// Lines lost so far because the output could not keep up.
  uint64_t dropped() const;

 private:
  const LogOptions options_;
  mutable std::shared_mutex mutex_;  // held alone by Close, shared by everything else
  std::shared_ptr<spdlog::details::thread_pool> writer_;
  std::shared_ptr<spdlog::async_logger> lines_;
};

}  // namespace affine
