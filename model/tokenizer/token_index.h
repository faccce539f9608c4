// From a token's bytes to its id.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/seeded_hash.h"

namespace affine {

/// A hash table with linear probing, at most half full. Reading is safe from several threads.
class TokenIndex {
 public:
  static constexpr int32_t kNone = -1;

  /// Room for `tokens` entries with `bytes` bytes together.
  TokenIndex(size_t tokens, size_t bytes);

  /// Adds an entry; false, and nothing changes, if `token` is there already.
  bool Insert(std::string_view token, int32_t id);
  /// The id of `token`, or kNone.
  int32_t Find(std::string_view token) const;
  size_t size() const { return size_; }

 private:
  struct Slot {
    uint32_t tag = 0;  // high half of the hash
    int32_t id = kNone;
    uint32_t offset = 0;
    uint32_t length = 0;
  };
  void Grow();
  std::string_view Bytes(const Slot& slot) const {
    return std::string_view(arena_).substr(slot.offset, slot.length);
  }

  SeededHash hash_;
  std::vector<Slot> slots_;  // a power of two
  std::string arena_;
  size_t size_ = 0;
};

}  // namespace affine
