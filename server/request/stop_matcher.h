// Finds the first completed stop string in text that comes in pieces.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace affine {

/// An Aho-Corasick automaton over bytes: each byte costs O(1) amortised steps, however many strings
/// there are. The match is the string whose last byte comes first; of several that end there, the
/// longest. Where pieces begin and end makes no difference.
class StopMatcher {
 public:
  /// Strings of at least one byte. With none, all text is settled at once.
  explicit StopMatcher(std::span<const std::string> stops);

  /// Takes more text and appends to `settled` what can't be part of a stop string any more. True if
  /// a stop string was completed: `settled` then ends before it, or after it with `include`, and
  /// nothing more may be fed. Without `may_stop` those that `text` completes pass.
  bool Feed(std::string_view text, std::string& settled, bool may_stop = true,
            bool include = false);

  /// No more text comes: appends what was held back.
  void Flush(std::string& settled);

 private:
  /// A prefix of some stop string. Node 0 is the empty one.
  struct Node {
    int32_t first_child = 0;   // 0: none
    int32_t next_sibling = 0;  // 0: none
    int32_t fallback = 0;      // the longest proper suffix that is a node too
    uint16_t depth = 0;        // bytes
    uint16_t match = 0;        // bytes of the longest stop string that this ends with; 0: none
    uint8_t byte = 0;          // the last one
  };

  void Insert(std::string_view stop);
  void LinkFallbacks();
  int32_t Child(int32_t node, uint8_t byte) const;
  int32_t Step(int32_t node, uint8_t byte) const;

  std::vector<Node> nodes_;
  int32_t state_ = 0;
  std::string held_;  // at least the last nodes_[state_].depth bytes of the text
};

}  // namespace affine
