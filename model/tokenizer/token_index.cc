#include "model/tokenizer/token_index.h"

#include <bit>

namespace affine {

TokenIndex::TokenIndex(size_t tokens, size_t bytes) : slots_(std::bit_ceil(2 * tokens + 16)) {
  arena_.reserve(bytes);
}

bool TokenIndex::Insert(std::string_view token, int32_t id) {
  if (2 * (size_ + 1) > slots_.size()) Grow();
  const uint64_t hash = hash_(token);
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  for (; slots_[at].id != kNone; at = (at + 1) & mask) {
    if (slots_[at].tag == hash >> 32 && Bytes(slots_[at]) == token) return false;
  }
  slots_[at] = {static_cast<uint32_t>(hash >> 32), id, static_cast<uint32_t>(arena_.size()),
                static_cast<uint32_t>(token.size())};
  arena_.append(token);
  ++size_;
  return true;
}

int32_t TokenIndex::Find(std::string_view token) const {
  const uint64_t hash = hash_(token);
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask; slots_[at].id != kNone; at = (at + 1) & mask) {
    if (slots_[at].tag == hash >> 32 && Bytes(slots_[at]) == token) return slots_[at].id;
  }
  return kNone;
}

void TokenIndex::Grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == kNone) continue;
    size_t at = hash_(Bytes(slot)) & mask;
    while (slots_[at].id != kNone) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

}  // namespace affine
