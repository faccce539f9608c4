#include "tests/support/block_invariants.h"

#include <set>
#include <vector>

namespace affine {
namespace {

std::string BrokenTable(const Sequence& sequence, int32_t block_size) {
  const std::string name = "sequence " + std::to_string(sequence.id) + ": ";
  const std::set<int32_t> distinct(sequence.blocks.begin(), sequence.blocks.end());
  const int32_t capacity = static_cast<int32_t>(sequence.blocks.size()) * block_size;
  if (distinct.size() != sequence.blocks.size()) return name + "a block stands twice";
  if (capacity < sequence.num_computed) return name + "computed tokens without a block";
  if (sequence.num_computed >= sequence.length()) return name + "nothing is left to compute";
  if (capacity >= sequence.length() + block_size) return name + "holds more blocks than it needs";
  if (sequence.length() > sequence.max_length) return name + "longer than allowed";
  return {};
}

}  // namespace

std::string BrokenBlockInvariant(const BlockPool& pool, const Scheduler& scheduler) {
  std::vector<int32_t> references(pool.num_blocks());
  const Sequence* before = nullptr;
  for (const Sequence* sequence : scheduler.running()) {
    std::string broken = BrokenTable(*sequence, pool.block_size());
    if (!broken.empty()) return broken;
    if (before != nullptr && !before->Before(*sequence)) return "running out of rank";
    before = sequence;
    for (const int32_t block : sequence->blocks) ++references[block];
  }
  int32_t used = 0;
  int32_t cached = 0;
  for (int32_t block = 0; block < pool.num_blocks(); ++block) {
    const std::string name = "block " + std::to_string(block) + ": ";
    if (pool.references(block) != references[block]) {
      return name + std::to_string(pool.references(block)) + " references, in " +
             std::to_string(references[block]) + " tables";
    }
    if (references[block] > 0) ++used;
    if (!pool.index().Contains(block)) continue;
    if (references[block] == 0) ++cached;
    const int32_t parent = pool.index().parent(block);
    if (parent != kNoBlock && !pool.index().Contains(parent)) return name + "its parent is gone";
  }
  if (used != pool.num_used()) return "used blocks are miscounted";
  if (cached != pool.num_cached()) return "cached blocks are miscounted";
  if (used + pool.num_free() != pool.num_blocks()) return "blocks were lost";
  return {};
}

}  // namespace affine
