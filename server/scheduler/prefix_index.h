// Finds full blocks again by what they hold.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/scheduler/siphash.h"

namespace affine {

/// Stands for the parent of a sequence's first block.
inline constexpr int32_t kNoBlock = -1;

/// All that the contents of a full block depend on.
struct BlockKey {
  Hash128 hash;                     // of all of the below
  int32_t parent = kNoBlock;        // the block before it, itself in the index
  std::span<const int32_t> tokens;  // [block_size]
  std::string_view cache_salt;      // read for first blocks alone; later ones have it from theirs
};

/// A hash only nominates a block; its stored tokens, parent and salt must equal the key's, so two
/// different prefixes never share a block, even if their hashes collide. Not thread-safe.
class PrefixIndex {
 public:
  PrefixIndex(int32_t num_blocks, int32_t block_size);
  std::optional<int32_t> Find(const BlockKey& key) const;
  /// Enters `block`, which is not in the index. Returns the block that `key` finds from now on:
  /// `block`, or the one entered before it with the same contents; none if the hash is taken by
  /// other contents, which stay.
  std::optional<int32_t> Enter(int32_t block, const BlockKey& key);
  /// The block's children must be out of the index: they are evicted before their parents.
  void Erase(int32_t block);
  bool Contains(int32_t block) const { return entries_[block].present; }
  int32_t parent(int32_t block) const { return entries_[block].parent; }
  int32_t size() const { return static_cast<int32_t>(by_hash_.size()); }

 private:
  struct Entry {
    bool present = false;
    int32_t parent = kNoBlock;
    Hash128 hash;
    std::string cache_salt;  // of first blocks alone
  };
  struct LowBits {
    size_t operator()(const Hash128& hash) const { return static_cast<size_t>(hash.low); }
  };
  std::span<const int32_t> TokensOf(int32_t block) const;
  bool Holds(int32_t block, const BlockKey& key) const;

  const int32_t block_size_;
  std::vector<Entry> entries_;   // [num_blocks]
  std::vector<int32_t> tokens_;  // [num_blocks, block_size]
  std::unordered_map<Hash128, int32_t, LowBits> by_hash_;
};

}  // namespace affine
