#include "server/engine/publisher.h"

#include <utility>

namespace affine {

void Publisher::Add(const LiveRequest& live, TokenEvent event) {
  items_.push_back({live.request.sink, nullptr, std::move(event)});
}

void Publisher::AddLast(std::unique_ptr<LiveRequest> live, TokenEvent event) {
  std::shared_ptr<TokenSink> sink = live->request.sink;
  items_.push_back({std::move(sink), std::move(live), std::move(event)});
}

int32_t Publisher::Flush() {
  int32_t ended = 0;
  for (Item& item : items_) {
    if (item.ended) {
      observer_.OnFinish(item.ended->request, *item.event.finish);
      ++ended;
    }
    item.sink->Push(std::move(item.event));
  }
  items_.clear();
  return ended;
}

}  // namespace affine
