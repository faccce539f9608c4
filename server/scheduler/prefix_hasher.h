// Names cached blocks by everything that their contents depend on.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "server/scheduler/siphash.h"

namespace affine {

/// A block's hash covers its tokens and, through its parent's hash, all tokens before them and the
/// cache salt. Virtual so that tests can make hashes collide. Thread-safe.
class PrefixHasher {
 public:
  /// `key` should be random for each process, so that callers can't aim at collisions.
  explicit PrefixHasher(const HashKey& key) : key_(key) {}
  virtual ~PrefixHasher() = default;
  /// What stands for the parent of a sequence's first block.
  virtual Hash128 Root(std::string_view cache_salt) const;
  /// `tokens`: [block_size].
  virtual Hash128 Child(const Hash128& parent, std::span<const int32_t> tokens) const;

 private:
  const HashKey key_;
};

}  // namespace affine
