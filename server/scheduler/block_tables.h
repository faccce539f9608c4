// Fills, indexes and empties the block tables of sequences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/scheduler/block_pool.h"
#include "server/scheduler/prefix_hasher.h"
#include "server/scheduler/sequence.h"

namespace affine {

/// Knows blocks and sequences, but no policy. Not thread-safe.
class BlockTables {
 public:
  /// Both outlive this object.
  BlockTables(BlockPool& pool, const PrefixHasher& hasher, bool enable_prefix_caching);

  bool LooksUp(const Sequence& sequence) const {
    return enable_prefix_caching_ && sequence.lookup_prefix;
  }
  /// The cached blocks that begin `sequence`, never up to its last token, whose logits are wanted.
  /// Valid until the next call; nothing is shared yet.
  std::span<const int32_t> FindPrefix(Sequence& sequence);
  /// Gives a sequence without blocks the ones that FindPrefix found.
  void AttachPrefix(Sequence& sequence, std::span<const int32_t> prefix);
  /// Gives a sequence without blocks the first `count` tokens of `source`: whole blocks are shared.
  /// What is left of them lies in the block that Grow adds next, once source's was copied there.
  void AttachFork(Sequence& sequence, const Sequence& source, int32_t count);
  /// Allocates blocks for the next `count` tokens; returns how many of these have a block now.
  int32_t Grow(Sequence& sequence, int32_t count);
  /// The next `count` tokens are in the cache; blocks that are full now become findable, or give
  /// way to equal ones that are already.
  void MarkComputed(Sequence& sequence, int32_t count);
  /// Lets go of blocks beyond those of computed tokens: nothing in them counts.
  void Trim(Sequence& sequence);
  /// Lets go of all blocks, the last first; nothing is computed any more.
  void Release(Sequence& sequence);

  /// Blocks that Release would free.
  int32_t NumExclusive(const Sequence& sequence) const;
  /// Blocks still to be allocated until all of the sequence's tokens have one.
  int32_t NumMissing(const Sequence& sequence) const;
  /// Of these blocks, how many are referenced by none.
  int32_t NumUnreferenced(std::span<const int32_t> blocks) const;
  const BlockPool& pool() const { return pool_; }

 private:
  BlockKey KeyOf(Sequence& sequence, int32_t index, int32_t parent) const;

  BlockPool& pool_;
  const PrefixHasher& hasher_;
  const bool enable_prefix_caching_;
  std::vector<int32_t> found_;
};

}  // namespace affine
