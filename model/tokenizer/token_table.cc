#include "model/tokenizer/token_table.h"

#include <algorithm>
#include <cstddef>

namespace affine {

void TokenTable::Set(int32_t id, std::string_view bytes) {
  entries_.push_back({id, static_cast<uint32_t>(bytes.size()), arena_.size()});
  arena_.append(bytes);
}

void TokenTable::Freeze() {
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.id < b.id; });
  size_t kept = 0;
  for (const Entry& entry : entries_) {  // of equal ids the last stays
    if (kept > 0 && entries_[kept - 1].id == entry.id) --kept;
    entries_[kept++] = entry;
  }
  entries_.resize(kept);
  while (dense_ < kept && entries_[dense_].id == static_cast<int32_t>(dense_)) ++dense_;
}

size_t TokenTable::IndexOf(int32_t id) const {
  if (id < 0) return entries_.size();
  if (static_cast<size_t>(id) < dense_) return static_cast<size_t>(id);
  const auto found =
      std::lower_bound(entries_.begin() + static_cast<ptrdiff_t>(dense_), entries_.end(), id,
                       [](const Entry& entry, int32_t wanted) { return entry.id < wanted; });
  if (found == entries_.end() || found->id != id) return entries_.size();
  return static_cast<size_t>(found - entries_.begin());
}

std::string_view TokenTable::Find(int32_t id) const {
  const size_t index = IndexOf(id);
  if (index == entries_.size()) return {};
  return std::string_view(arena_).substr(entries_[index].offset, entries_[index].length);
}

}  // namespace affine
