#include "server/scheduler/block_tables.h"

#include <algorithm>
#include <optional>

namespace affine {

BlockTables::BlockTables(BlockPool& pool, const PrefixHasher& hasher, bool enable_prefix_caching)
    : pool_(pool), hasher_(hasher), enable_prefix_caching_(enable_prefix_caching) {}

BlockKey BlockTables::KeyOf(Sequence& sequence, int32_t index, int32_t parent) const {
  const int32_t size = pool_.block_size();
  const std::span tokens(sequence.tokens);
  std::vector<Hash128>& hashes = sequence.hashes;
  if (hashes.empty()) hashes.push_back(hasher_.Root(sequence.cache_salt));
  while (static_cast<int32_t>(hashes.size()) < index + 2) {
    const size_t begin = (hashes.size() - 1) * size;
    hashes.push_back(hasher_.Child(hashes.back(), tokens.subspan(begin, size)));
  }
  return {.hash = hashes[index + 1],
          .parent = parent,
          .tokens = tokens.subspan(static_cast<size_t>(index) * size, size),
          .cache_salt = sequence.cache_salt};
}

std::span<const int32_t> BlockTables::FindPrefix(Sequence& sequence) {
  found_.clear();
  if (!LooksUp(sequence)) return found_;
  const int32_t most = (sequence.length() - 1) / pool_.block_size();
  int32_t parent = kNoBlock;
  for (int32_t i = 0; i < most; ++i) {
    const std::optional<int32_t> block = pool_.Find(KeyOf(sequence, i, parent));
    if (!block) break;
    found_.push_back(*block);
    parent = *block;
  }
  return found_;
}

void BlockTables::AttachPrefix(Sequence& sequence, std::span<const int32_t> prefix) {
  for (const int32_t block : prefix) {
    pool_.Share(block);
    sequence.blocks.push_back(block);
  }
  sequence.num_indexed = static_cast<int32_t>(prefix.size());
  sequence.num_computed = sequence.num_indexed * pool_.block_size();
}

void BlockTables::AttachFork(Sequence& sequence, const Sequence& source, int32_t count) {
  const int32_t whole = count / pool_.block_size();
  for (int32_t i = 0; i < whole; ++i) {
    pool_.Share(source.blocks[i]);
    sequence.blocks.push_back(source.blocks[i]);
  }
  sequence.num_indexed = std::min(whole, source.num_indexed);
  sequence.index_blocks = source.index_blocks;
  sequence.num_computed = count;
}

int32_t BlockTables::Grow(Sequence& sequence, int32_t count) {
  const int32_t wanted = sequence.num_computed + count;
  const auto capacity = [&] {
    return static_cast<int32_t>(sequence.blocks.size()) * pool_.block_size();
  };
  while (capacity() < wanted) {
    const std::optional<int32_t> block = pool_.Allocate();
    if (!block) break;
    sequence.blocks.push_back(*block);
  }
  return std::min(count, capacity() - sequence.num_computed);
}

void BlockTables::MarkComputed(Sequence& sequence, int32_t count) {
  sequence.num_computed += count;
  if (!enable_prefix_caching_) return;
  const int32_t full = sequence.num_computed / pool_.block_size();
  for (int32_t i = sequence.num_indexed; i < full && sequence.index_blocks; ++i) {
    int32_t& block = sequence.blocks[i];
    const int32_t parent = i == 0 ? kNoBlock : sequence.blocks[i - 1];
    const std::optional<int32_t> findable = pool_.Enter(block, KeyOf(sequence, i, parent));
    if (!findable) {
      sequence.index_blocks = false;
      break;
    }
    if (*findable != block) {
      pool_.Share(*findable);
      pool_.Release(block);
      block = *findable;
    }
    ++sequence.num_indexed;
  }
}

void BlockTables::Trim(Sequence& sequence) {
  const int32_t size = pool_.block_size();
  const auto kept = static_cast<size_t>((sequence.num_computed + size - 1) / size);
  for (; sequence.blocks.size() > kept; sequence.blocks.pop_back()) {
    pool_.Release(sequence.blocks.back());
  }
}

void BlockTables::Release(Sequence& sequence) {
  for (; !sequence.blocks.empty(); sequence.blocks.pop_back()) {
    pool_.Release(sequence.blocks.back());
  }
  sequence.num_computed = 0;
  sequence.num_indexed = 0;
  sequence.index_blocks = true;
}

int32_t BlockTables::NumExclusive(const Sequence& sequence) const {
  return static_cast<int32_t>(std::ranges::count_if(
      sequence.blocks, [&](int32_t block) { return pool_.references(block) == 1; }));
}

int32_t BlockTables::NumMissing(const Sequence& sequence) const {
  const int32_t size = pool_.block_size();
  return (sequence.length() + size - 1) / size - static_cast<int32_t>(sequence.blocks.size());
}

int32_t BlockTables::NumUnreferenced(std::span<const int32_t> blocks) const {
  return static_cast<int32_t>(
      std::ranges::count_if(blocks, [&](int32_t block) { return pool_.references(block) == 0; }));
}

}  // namespace affine
