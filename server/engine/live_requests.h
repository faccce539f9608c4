// All requests that the engine has taken and not yet ended.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "model/model_info.h"
#include "server/engine/live_request.h"
#include "server/engine/publisher.h"
#include "server/scheduler/scheduler.h"

namespace affine {

/// Owns them, knows their deadlines, and is the one place where requests end. Used on the engine's
/// thread alone.
class LiveRequests {
 public:
  /// All outlive this object.
  LiveRequests(const ModelInfo& info, Scheduler& scheduler, Publisher& publisher);

  /// The request waits in the scheduler. One of the same prompt follows the other at once.
  void Add(uint64_t handle, Request request);
  /// Null if it has ended.
  LiveRequest* Find(uint64_t handle);
  LiveRequest& Of(const Sequence& sequence) { return *by_handle_.at(sequence.id); }

  /// Frees the request's blocks and queues `event` with the finish as its last one.
  void End(LiveRequest& live, Ending ending, TokenEvent event, Clock::Time now);
  void EndWithError(LiveRequest& live, RequestError error, Clock::Time now);
  /// Ends those whose deadline has come; returns how many.
  int32_t EndExpired(Clock::Time now);
  void EndAll(const RequestError& error, Clock::Time now);

 private:
  const ModelInfo& info_;
  Scheduler& scheduler_;
  Publisher& publisher_;
  uint64_t first_of_prompt_ = 0;  // the latest request that is not of the same prompt
  std::unordered_map<uint64_t, std::unique_ptr<LiveRequest>> by_handle_;
  std::set<std::pair<Clock::Time, uint64_t>> deadlines_;
};

}  // namespace affine
