#include "server/request/stop_matcher.h"

#include <algorithm>

namespace affine {

StopMatcher::StopMatcher(std::span<const std::string> stops) : nodes_(1) {
  for (const std::string& stop : stops) Insert(stop);
  LinkFallbacks();
}

void StopMatcher::Insert(std::string_view stop) {
  int32_t node = 0;
  for (const char c : stop) {
    const auto byte = static_cast<uint8_t>(c);
    int32_t child = Child(node, byte);
    if (child == 0) {
      child = static_cast<int32_t>(nodes_.size());
      Node added;
      added.next_sibling = nodes_[node].first_child;
      added.depth = static_cast<uint16_t>(nodes_[node].depth + 1);
      added.byte = byte;
      nodes_.push_back(added);
      nodes_[node].first_child = child;
    }
    node = child;
  }
  nodes_[node].match = nodes_[node].depth;
}

void StopMatcher::LinkFallbacks() {
  // Breadth first, so that a node's fallback, which is shorter, is complete before the node.
  std::vector<int32_t> order = {0};
  order.reserve(nodes_.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const int32_t parent = order[i];
    for (int32_t node = nodes_[parent].first_child; node != 0; node = nodes_[node].next_sibling) {
      nodes_[node].fallback = parent == 0 ? 0 : Step(nodes_[parent].fallback, nodes_[node].byte);
      if (nodes_[node].match == 0) nodes_[node].match = nodes_[nodes_[node].fallback].match;
      order.push_back(node);
    }
  }
}

int32_t StopMatcher::Child(int32_t node, uint8_t byte) const {
  int32_t child = nodes_[node].first_child;
  while (child != 0 && nodes_[child].byte != byte) child = nodes_[child].next_sibling;
  return child;
}

int32_t StopMatcher::Step(int32_t node, uint8_t byte) const {
  while (true) {
    const int32_t child = Child(node, byte);
    if (child != 0 || node == 0) return child;
    node = nodes_[node].fallback;
  }
}

bool StopMatcher::Feed(std::string_view text, std::string& settled, bool may_stop, bool include) {
  for (const char c : text) {
    held_.push_back(c);
    state_ = Step(state_, static_cast<uint8_t>(c));
    if (const size_t match = nodes_[state_].match; match > 0 && may_stop) {
      settled.append(held_, 0, held_.size() - (include ? 0 : match));
      held_.clear();
      return true;
    }
  }
  const size_t free = held_.size() - nodes_[state_].depth;
  settled.append(held_, 0, free);
  held_.erase(0, free);
  return false;
}

void StopMatcher::Flush(std::string& settled) {
  settled += held_;
  held_.clear();
  state_ = 0;
}

}  // namespace affine
