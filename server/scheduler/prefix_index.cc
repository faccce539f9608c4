#include "server/scheduler/prefix_index.h"

#include <algorithm>

namespace affine {

PrefixIndex::PrefixIndex(int32_t num_blocks, int32_t block_size)
    : block_size_(block_size),
      entries_(num_blocks),
      tokens_(static_cast<size_t>(num_blocks) * block_size) {
  by_hash_.reserve(num_blocks);
}

std::span<const int32_t> PrefixIndex::TokensOf(int32_t block) const {
  return std::span(tokens_).subspan(static_cast<size_t>(block) * block_size_, block_size_);
}

bool PrefixIndex::Holds(int32_t block, const BlockKey& key) const {
  const Entry& entry = entries_[block];
  return entry.parent == key.parent &&
         (key.parent != kNoBlock || entry.cache_salt == key.cache_salt) &&
         std::ranges::equal(TokensOf(block), key.tokens);
}

std::optional<int32_t> PrefixIndex::Find(const BlockKey& key) const {
  const auto found = by_hash_.find(key.hash);
  if (found == by_hash_.end() || !Holds(found->second, key)) return std::nullopt;
  return found->second;
}

std::optional<int32_t> PrefixIndex::Enter(int32_t block, const BlockKey& key) {
  const auto [place, is_new] = by_hash_.try_emplace(key.hash, block);
  if (!is_new) return Holds(place->second, key) ? std::optional(place->second) : std::nullopt;
  Entry& entry = entries_[block];
  entry.present = true;
  entry.parent = key.parent;
  entry.hash = key.hash;
  entry.cache_salt = key.parent == kNoBlock ? key.cache_salt : std::string_view();
  std::ranges::copy(key.tokens, tokens_.begin() + static_cast<ptrdiff_t>(block) * block_size_);
  return block;
}

void PrefixIndex::Erase(int32_t block) {
  by_hash_.erase(entries_[block].hash);
  entries_[block].present = false;
}

}  // namespace affine
