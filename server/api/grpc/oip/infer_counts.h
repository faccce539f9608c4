// How many inference requests there were and how long they took.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "inference/grpc_service.pb.h"
#include "server/request/clock.h"

namespace affine {

/// Thread-safe.
class InferCounts {
 public:
  /// A request that reached the engine of `model` has ended, so long after its arrival.
  void Count(const std::string& model, bool success, Clock::Duration took);
  inference::ModelStatistics StatisticsOf(const std::string& model) const;

 private:
  struct Ended {
    uint64_t count = 0;
    Clock::Duration total{};
  };
  struct Counts {
    Ended success;
    Ended fail;
    uint64_t last_unix_ms = 0;  // of the latest success
  };
  mutable std::mutex mutex_;
  std::map<std::string, Counts> models_;
};

}  // namespace affine
