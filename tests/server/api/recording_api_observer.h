// An observer of the edge that keeps what it was told.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/api/api_server.h"

namespace affine {

/// Thread-safe.
class RecordingApiObserver final : public ApiObserver {
 public:
  void OnRefused(const std::string& request_id, const RequestError& error) override {
    const std::lock_guard lock(mutex_);
    refusals_.emplace_back(request_id, error);
  }
  void OnFirstToken(const std::string& model_name, Clock::Duration since_arrival) override {
    const std::lock_guard lock(mutex_);
    first_token_models_.push_back(model_name);
    first_tokens_.push_back(since_arrival);
  }

  std::vector<std::pair<std::string, RequestError>> refusals() const {
    const std::lock_guard lock(mutex_);
    return refusals_;
  }
  std::vector<Clock::Duration> first_tokens() const {
    const std::lock_guard lock(mutex_);
    return first_tokens_;
  }
  /// The models of first_tokens().
  std::vector<std::string> first_token_models() const {
    const std::lock_guard lock(mutex_);
    return first_token_models_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, RequestError>> refusals_;
  std::vector<Clock::Duration> first_tokens_;
  std::vector<std::string> first_token_models_;
};

}  // namespace affine
