#include "model/tokenizer/token_trie.h"

#include <algorithm>

namespace affine {

TokenTrie::TokenTrie(const std::vector<std::pair<std::string_view, int32_t>>& tokens) : nodes_(1) {
  auto sorted = tokens;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  // Breadth first over ranges of the sorted tokens that share their first `depth` bytes.
  struct Range {
    uint32_t node;
    size_t begin, end, depth;
  };
  std::vector<Range> queue = {{0, 0, sorted.size(), 0}};
  for (size_t next = 0; next < queue.size(); ++next) {
    const Range range = queue[next];
    size_t at = range.begin;
    for (; at < range.end && sorted[at].first.size() == range.depth; ++at) {
      nodes_[range.node].id = sorted[at].second;
    }
    nodes_[range.node].first_edge = static_cast<uint32_t>(edges_.size());
    while (at < range.end) {
      const char byte = sorted[at].first[range.depth];
      size_t end = at;
      while (end < range.end && sorted[end].first[range.depth] == byte) ++end;
      const auto target = static_cast<uint32_t>(nodes_.size());
      nodes_.emplace_back();
      edges_.push_back({static_cast<uint8_t>(byte), target});
      ++nodes_[range.node].edge_count;
      queue.push_back({target, at, end, range.depth + 1});
      at = end;
    }
  }
  for (uint32_t i = 0; i < nodes_[0].edge_count; ++i) starts_[edges_[i].byte] = true;
}

bool TokenTrie::MatchAt(std::string_view text, size_t begin, Match* match) const {
  bool found = false;
  uint32_t node = 0;
  for (size_t at = begin; at < text.size(); ++at) {
    const auto byte = static_cast<uint8_t>(text[at]);
    const auto first = edges_.begin() + nodes_[node].first_edge;
    const auto last = first + nodes_[node].edge_count;
    const auto edge = std::lower_bound(
        first, last, byte, [](const Edge& e, uint8_t wanted) { return e.byte < wanted; });
    if (edge == last || edge->byte != byte) break;
    node = edge->target;
    if (nodes_[node].id >= 0) {
      *match = {begin, at + 1, nodes_[node].id};
      found = true;
    }
  }
  return found;
}

bool TokenTrie::Find(std::string_view text, size_t from, Match* match) const {
  if (empty()) return false;
  for (size_t at = from; at < text.size(); ++at) {
    if (starts_[static_cast<uint8_t>(text[at])] && MatchAt(text, at, match)) return true;
  }
  return false;
}

}  // namespace affine
