// Finds which of a set of strings starts at a place in a text.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace affine {

class TokenTrie {
 public:
  /// `tokens`: non-empty strings with an id each, of equal strings the last counts.
  explicit TokenTrie(const std::vector<std::pair<std::string_view, int32_t>>& tokens);

  struct Match {
    size_t begin;
    size_t end;
    int32_t id;
  };
  /// The leftmost match that begins at or after `from`, the longest of those that begin there.
  /// False if there is none.
  bool Find(std::string_view text, size_t from, Match* match) const;
  bool empty() const { return nodes_.size() == 1; }

 private:
  struct Node {
    uint32_t first_edge = 0;
    uint32_t edge_count = 0;
    int32_t id = -1;  // of the token that ends here
  };
  struct Edge {
    uint8_t byte;
    uint32_t target;
  };
  bool MatchAt(std::string_view text, size_t begin, Match* match) const;

  std::vector<Node> nodes_;         // nodes_[0] is the root
  std::vector<Edge> edges_;         // grouped by node, by byte within
  std::array<bool, 256> starts_{};  // bytes that a token starts with
};

}  // namespace affine
