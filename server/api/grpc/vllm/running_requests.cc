#include "server/api/grpc/vllm/running_requests.h"

#include <utility>
#include <vector>

namespace affine {

std::shared_ptr<void> RunningRequests::Add(const std::string& id,
                                           std::weak_ptr<CompletionCall> call) {
  std::lock_guard lock(mutex_);
  const auto entry = calls_.emplace(id, std::move(call));
  return {nullptr, [this, entry](void*) {
            std::lock_guard again(mutex_);
            calls_.erase(entry);
          }};
}

void RunningRequests::Abort(const std::string& id, const RequestError& why) {
  std::vector<std::shared_ptr<CompletionCall>> found;
  {
    std::lock_guard lock(mutex_);
    const auto [first, last] = calls_.equal_range(id);
    for (auto entry = first; entry != last; ++entry) found.push_back(entry->second.lock());
  }
  for (const auto& call : found) {  // without the lock: a call may end meanwhile
    if (call) call->Cancel(why);
  }
}

}  // namespace affine
