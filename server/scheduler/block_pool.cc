#include "server/scheduler/block_pool.h"

#include <cassert>

namespace affine {

BlockPool::BlockPool(int32_t num_blocks, int32_t block_size)
    : num_blocks_(num_blocks),
      block_size_(block_size),
      links_(num_blocks + 1),
      index_(num_blocks, block_size) {
  links_[num_blocks].previous = links_[num_blocks].next = num_blocks;
  for (int32_t block = 0; block < num_blocks; ++block) {
    InsertAfter(links_[num_blocks].previous, block);
  }
}

std::optional<int32_t> BlockPool::Allocate() {
  if (num_free_ == 0) return std::nullopt;
  const int32_t block = links_[num_blocks_].next;
  Unlink(block);
  if (index_.Contains(block)) index_.Erase(block);
  links_[block].references = 1;
  return block;
}

void BlockPool::Share(int32_t block) {
  if (links_[block].references == 0) Unlink(block);
  ++links_[block].references;
}

void BlockPool::Release(int32_t block) {
  assert(links_[block].references > 0);
  if (--links_[block].references > 0) return;
  InsertAfter(index_.Contains(block) ? links_[num_blocks_].previous : num_blocks_, block);
}

void BlockPool::InsertAfter(int32_t place, int32_t block) {
  const int32_t next = links_[place].next;
  links_[block].previous = place;
  links_[block].next = next;
  links_[place].next = links_[next].previous = block;
  ++num_free_;
  if (index_.Contains(block)) ++num_cached_;
}

void BlockPool::Unlink(int32_t block) {
  const Link& link = links_[block];
  links_[link.previous].next = link.next;
  links_[link.next].previous = link.previous;
  --num_free_;
  if (index_.Contains(block)) --num_cached_;
}

}  // namespace affine
