// Who uses which block of the paged cache.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/scheduler/prefix_index.h"

namespace affine {

/// Integers only: the model owns the memory that block numbers stand for. Every operation is O(1)
/// (comparing a block's tokens on a hit apart). Not thread-safe.
///
/// Free blocks wait in one list, taken from its front: blocks that hold nothing of use at the
/// front, blocks that can be found again at the back, least recently used first. Tables are
/// released from their ends, and whoever uses a block uses its parent too; so a parent always
/// stands behind its children and is evicted after them.
class BlockPool {
 public:
  BlockPool(int32_t num_blocks, int32_t block_size);

  /// A block with one reference, contents undefined; evicts a cached one if need be. None if all
  /// are referenced.
  std::optional<int32_t> Allocate();
  /// One more reference to a block that is referenced or was found.
  void Share(int32_t block);
  /// One reference less. At none the block is free; if it is in the index, it stays findable.
  void Release(int32_t block);

  /// A full block with these contents, referenced or not. Share it before anything else.
  std::optional<int32_t> Find(const BlockKey& key) const { return index_.Find(key); }
  /// Makes a referenced, full block findable; see PrefixIndex::Enter.
  std::optional<int32_t> Enter(int32_t block, const BlockKey& key) {
    return index_.Enter(block, key);
  }

  int32_t references(int32_t block) const { return links_[block].references; }
  const PrefixIndex& index() const { return index_; }
  int32_t block_size() const { return block_size_; }
  int32_t num_blocks() const { return num_blocks_; }
  int32_t num_free() const { return num_free_; }  // cached ones included
  int32_t num_used() const { return num_blocks_ - num_free_; }
  int32_t num_cached() const { return num_cached_; }  // free, yet findable

 private:
  struct Link {
    int32_t references = 0;
    int32_t previous = 0;  // in the free list, while there are no references
    int32_t next = 0;
  };
  void InsertAfter(int32_t place, int32_t block);
  void Unlink(int32_t block);

  const int32_t num_blocks_;
  const int32_t block_size_;
  int32_t num_free_ = 0;
  int32_t num_cached_ = 0;
  std::vector<Link> links_;  // [num_blocks + 1]; the last is the free list's both ends
  PrefixIndex index_;
};

}  // namespace affine
