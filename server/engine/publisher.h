// Hands a step's events to their sinks, after everything else of the step is settled.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "server/engine/engine_observer.h"
#include "server/engine/live_request.h"
#include "server/request/token_sink.h"

namespace affine {

/// Used on the engine's thread alone.
class Publisher {
 public:
  explicit Publisher(EngineObserver& observer) : observer_(observer) {}
  /// `event` has no finish, and `live` lives until Flush.
  void Add(const LiveRequest& live, TokenEvent event);
  /// `event` has a finish; the request goes after it is delivered.
  void AddLast(std::unique_ptr<LiveRequest> live, TokenEvent event);
  /// Delivers in order of addition; returns how many requests ended. The observer hears of a finish
  /// before the client does, so that a client finds itself counted.
  int32_t Flush();

 private:
  struct Item {
    std::shared_ptr<TokenSink> sink;
    std::unique_ptr<LiveRequest> ended;  // set with a finish
    TokenEvent event;
  };
  EngineObserver& observer_;
  std::vector<Item> items_;
};

}  // namespace affine
