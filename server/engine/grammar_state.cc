#include "server/engine/grammar_state.h"

#include <algorithm>
#include <utility>

#include "model/token_mask.h"

namespace affine {
namespace {

constexpr int32_t kBits = TokenMask::kWordBits;

bool Remove(std::vector<uint32_t>& words, int32_t id) {
  uint32_t& word = words[id / kBits];
  const uint32_t bit = uint32_t{1} << id % kBits;
  const bool was_there = (word & bit) != 0;
  word &= ~bit;
  return was_there;
}

bool HasAny(const std::vector<uint32_t>& words) {
  return std::ranges::any_of(words, [](uint32_t word) { return word != 0; });
}

}  // namespace

GrammarState::GrammarState(std::shared_ptr<GrammarMatcher> matcher, int32_t vocab_size,
                           std::span<const int32_t> end_ids, std::span<const int32_t> stop_ids)
    : matcher_(std::move(matcher)),
      vocab_size_(vocab_size),
      end_ids_(end_ids.begin(), end_ids.end()),
      mask_(TokenMask::WordsFor(vocab_size)) {
  for (const int32_t id : end_ids_) {
    if (!std::ranges::binary_search(stop_ids, id)) ignored_ids_.push_back(id);
  }
  Fill();
}

void GrammarState::Take(int32_t id) {
  next_ = Next::kFailed;
  if (matcher_->Accept(id)) Fill();
}

void GrammarState::Fill() {
  next_ = Next::kFailed;
  if (!matcher_->FillMask(mask_)) return;
  const int32_t over = vocab_size_ % kBits;
  if (over > 0) mask_.back() &= (uint32_t{1} << over) - 1;
  bool whole = false;
  for (const int32_t id : end_ids_) whole = Remove(mask_, id) || whole;
  if (!HasAny(mask_)) {
    if (whole) next_ = Next::kEnd;
    return;
  }
  next_ = Next::kToken;
  if (!whole) return;
  for (const int32_t id : end_ids_) mask_[id / kBits] |= uint32_t{1} << id % kBits;
  for (const int32_t id : ignored_ids_) Remove(mask_, id);
}

}  // namespace affine
