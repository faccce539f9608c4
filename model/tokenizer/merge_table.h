// Which pairs of tokens merge, into what, and which merge goes first.
#pragma once

#include <cstdint>
#include <vector>

#include "model/tokenizer/seeded_hash.h"

namespace affine {

class MergeTable {
 public:
  static constexpr uint32_t kNoRank = UINT32_MAX;
  struct Merge {
    uint32_t rank;  // lower goes first; kNoRank if the pair does not merge
    int32_t id;     // of the merged token
  };

  /// Room for `merges` pairs; adding more is a fault of the caller.
  explicit MergeTable(size_t merges);

  /// Sets what the pair merges into, replacing what was set before.
  void Set(int32_t left, int32_t right, Merge merge);

  Merge Find(int32_t left, int32_t right) const {
    const uint64_t key = Key(left, right);
    for (size_t at = hash_(key) & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.key == key) return slot.merge;
      if (slot.merge.rank == kNoRank) return {kNoRank, -1};
    }
  }

 private:
  struct Slot {
    uint64_t key = 0;
    Merge merge{kNoRank, -1};  // kNoRank: the slot is free
  };
  static uint64_t Key(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }

  SeededHash hash_;
  std::vector<Slot> slots_;  // a power of two, at most half full, linear probing
  size_t mask_;
};

}  // namespace affine
