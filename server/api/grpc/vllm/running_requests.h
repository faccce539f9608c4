// The running requests of a service by their ids, so that another call can end them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "server/request/completion_call.h"

namespace affine {

/// Thread-safe. Ids need not be unique.
class RunningRequests {
 public:
  /// Until the result is dropped, which must be before this goes, Abort(id) ends `call`.
  [[nodiscard]] std::shared_ptr<void> Add(const std::string& id,
                                          std::weak_ptr<CompletionCall> call);
  /// Cancels every request of that id.
  void Abort(const std::string& id, const RequestError& why);

 private:
  std::mutex mutex_;
  std::multimap<std::string, std::weak_ptr<CompletionCall>> calls_;
};

}  // namespace affine
