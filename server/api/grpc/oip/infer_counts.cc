#include "server/api/grpc/oip/infer_counts.h"

#include <chrono>

namespace affine {

void InferCounts::Count(const std::string& model, bool success, Clock::Duration took) {
  using std::chrono::milliseconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::lock_guard lock(mutex_);
  Counts& counts = models_[model];
  Ended& ended = success ? counts.success : counts.fail;
  ++ended.count;
  ended.total += took;
  if (success) counts.last_unix_ms = std::chrono::duration_cast<milliseconds>(now).count();
}

inference::ModelStatistics InferCounts::StatisticsOf(const std::string& model) const {
  Counts counts;
  {
    std::lock_guard lock(mutex_);
    if (const auto found = models_.find(model); found != models_.end()) counts = found->second;
  }
  const auto set = [](const Ended& ended, inference::StatisticDuration& message) {
    message.set_count(ended.count);
    message.set_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(ended.total).count());
  };
  inference::ModelStatistics message;
  message.set_name(model);
  message.set_version("1");
  message.set_last_inference(counts.last_unix_ms);
  message.set_inference_count(counts.success.count);
  set(counts.success, *message.mutable_inference_stats()->mutable_success());
  set(counts.fail, *message.mutable_inference_stats()->mutable_fail());
  return message;
}

}  // namespace affine
