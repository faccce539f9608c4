#include "model/tokenizer/merge_table.h"

#include <bit>

namespace affine {

MergeTable::MergeTable(size_t merges)
    : slots_(std::bit_ceil(2 * merges + 2)), mask_(slots_.size() - 1) {}

void MergeTable::Set(int32_t left, int32_t right, Merge merge) {
  const uint64_t key = Key(left, right);
  size_t at = hash_(key) & mask_;
  while (slots_[at].merge.rank != kNoRank && slots_[at].key != key) at = (at + 1) & mask_;
  slots_[at] = {key, merge};
}

}  // namespace affine
