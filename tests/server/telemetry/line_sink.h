// A log sink that keeps lines in memory, and can be made to stand still.
#pragma once

#include <spdlog/sinks/base_sink.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

namespace affine {

class LineSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::vector<std::string> lines() {
    const std::lock_guard lock(lines_mutex_);
    return lines_;
  }
  /// Waits for a line that holds `part` and returns it.
  std::string WaitForLine(const std::string& part) {
    std::unique_lock lock(lines_mutex_);
    std::string found;
    changed_.wait(lock, [&] {
      for (const std::string& line : lines_) {
        if (line.find(part) != std::string::npos) found = line;
      }
      return !found.empty();
    });
    return found;
  }
  /// Until Open, the writer waits inside the sink.
  void Shut() { SetShut(true); }
  void Open() { SetShut(false); }
  /// Waits until the writer stands inside a shut sink.
  void WaitForWriter() {
    std::unique_lock lock(lines_mutex_);
    changed_.wait(lock, [this] { return writer_waits_; });
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t formatted;
    formatter_->format(message, formatted);
    std::unique_lock lock(lines_mutex_);
    writer_waits_ = shut_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !shut_; });
    writer_waits_ = false;
    lines_.emplace_back(formatted.data(), formatted.size());
    changed_.notify_all();
  }
  void flush_() override {}

 private:
  void SetShut(bool shut) {
    const std::lock_guard lock(lines_mutex_);
    shut_ = shut;
    changed_.notify_all();
  }

  std::mutex lines_mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
  bool shut_ = false;
  bool writer_waits_ = false;
};

}  // namespace affine
