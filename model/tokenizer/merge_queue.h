// Byte pair encoding of a long word.
#pragma once

#include <cstdint>
#include <vector>

#include "model/tokenizer/merge_table.h"

namespace affine {

/// Merges symbols in the order of rank, then position, in O(n log n): a doubly linked list of
/// symbols and a heap of the merges that may be due.
class MergeQueue {
 public:
  /// Throws std::length_error for more than 2^31 symbols.
  MergeQueue(const MergeTable& merges, std::vector<int32_t> symbols);

  /// Merges until nothing is left to merge and appends the result.
  void Run(std::vector<int32_t>* ids);

 private:
  static constexpr int32_t kGone = -1;
  static constexpr uint32_t kNoSymbol = UINT32_MAX;

  void Offer(uint32_t position);

  const MergeTable& merges_;
  std::vector<int32_t> symbols_;  // kGone where a symbol was merged into the one before it
  std::vector<uint32_t> previous_;
  std::vector<uint32_t> next_;
  /// rank << 32 | position of the left symbol, smallest on top. Entries whose pair has changed
  /// since stay and are recognized when they come up: then the pair has another rank.
  std::vector<uint64_t> heap_;
};

}  // namespace affine
