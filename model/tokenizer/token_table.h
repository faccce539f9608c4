// From an id to the bytes of its token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace affine {

/// Ids may have holes of any size without taking memory. Filled once, then read by several threads.
class TokenTable {
 public:
  /// Sets the bytes of `id`, replacing those it had.
  void Set(int32_t id, std::string_view bytes);
  /// Sorts what was set; call it once after the last Set.
  void Freeze();

  /// The bytes of `id`; empty for ids without a token, negative ones included.
  std::string_view Find(int32_t id) const;
  bool Contains(int32_t id) const { return IndexOf(id) < entries_.size(); }
  /// One more than the largest id.
  int32_t id_end() const { return entries_.empty() ? 0 : entries_.back().id + 1; }

 private:
  struct Entry {
    int32_t id;
    uint32_t length;
    size_t offset;
  };
  size_t IndexOf(int32_t id) const;  // entries_.size() if there is none

  std::vector<Entry> entries_;  // by id once frozen
  size_t dense_ = 0;            // entries_[i].id == i below this
  std::string arena_;
};

}  // namespace affine
