#include "model/tokenizer/merge_queue.h"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

namespace affine {

MergeQueue::MergeQueue(const MergeTable& merges, std::vector<int32_t> symbols)
    : merges_(merges), symbols_(std::move(symbols)) {
  const size_t count = symbols_.size();
  if (count > INT32_MAX) throw std::length_error("a word of more than 2^31 bytes");
  previous_.resize(count);
  next_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    previous_[i] = i == 0 ? kNoSymbol : static_cast<uint32_t>(i - 1);
    next_[i] = i + 1 == count ? kNoSymbol : static_cast<uint32_t>(i + 1);
  }
}

void MergeQueue::Offer(uint32_t position) {
  if (position == kNoSymbol || next_[position] == kNoSymbol) return;
  const uint32_t rank = merges_.Find(symbols_[position], symbols_[next_[position]]).rank;
  if (rank == MergeTable::kNoRank) return;
  heap_.push_back(uint64_t{rank} << 32 | position);
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void MergeQueue::Run(std::vector<int32_t>* ids) {
  for (uint32_t i = 0; i < symbols_.size(); ++i) Offer(i);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const uint64_t top = heap_.back();
    heap_.pop_back();
    const auto position = static_cast<uint32_t>(top);
    const uint32_t right = next_[position];
    if (symbols_[position] == kGone || right == kNoSymbol) continue;
    const MergeTable::Merge merge = merges_.Find(symbols_[position], symbols_[right]);
    if (merge.rank != top >> 32) continue;
    symbols_[position] = merge.id;
    symbols_[right] = kGone;
    next_[position] = next_[right];
    if (next_[right] != kNoSymbol) previous_[next_[right]] = position;
    Offer(previous_[position]);
    Offer(position);
  }
  for (const int32_t symbol : symbols_) {
    if (symbol != kGone) ids->push_back(symbol);
  }
}

}  // namespace affine
