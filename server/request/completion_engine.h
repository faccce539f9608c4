// What the front end sees of an engine. Implemented by Engine; by fakes in tests.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "model/model_info.h"
#include "server/request/request.h"
#include "server/request/request_error.h"

namespace affine {

/// Names a submitted request for as long as the process lives.
using RequestHandle = uint64_t;

struct EngineLoad {
  int32_t running = 0;      // sequences with blocks
  int32_t waiting = 0;      // accepted, not yet (or, preempted, no longer) running
  int32_t blocks_used = 0;  // referenced by sequences; cached but unreferenced blocks count as free
  int32_t blocks_total = 0;
};

/// All methods are thread-safe and return without waiting for a step.
class CompletionEngine {
 public:
  virtual ~CompletionEngine() = default;
  virtual const ModelInfo& info() const = 0;
  /// Takes all requests, one at least, or none and says why (kFull, kUnavailable, or kBadInput when
  /// one can never fit the cache, or all together the queue); then no sink is called. Otherwise
  /// each sink gets events until a finish. Handles are in the order of the requests.
  virtual std::variant<std::vector<RequestHandle>, RequestError> SubmitAll(
      std::vector<Request> requests) = 0;
  /// One alone.
  std::variant<RequestHandle, RequestError> Submit(Request request) {
    std::vector<Request> alone;
    alone.push_back(std::move(request));
    auto taken = SubmitAll(std::move(alone));
    if (auto* error = std::get_if<RequestError>(&taken)) return std::move(*error);
    return std::get<std::vector<RequestHandle>>(taken).front();
  }
  /// Ends the request before the next step and frees its blocks; its sink gets a finish with
  /// `error` unless it had one already. Without an error the caller has all it wants (a stop string
  /// was completed): the finish is kStop. Unknown or ended handles are ignored.
  virtual void Cancel(RequestHandle handle, std::optional<RequestError> error) = 0;
  virtual EngineLoad load() const = 0;
};

}  // namespace affine
