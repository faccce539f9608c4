// Unicode normalization of a text before it is split.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/config_node.h"

namespace affine {

/// Does nothing (`null`) or brings text into normalization form C (`NFC`, or a `Sequence` of it).
/// Takes linear time whatever the text, up to sorting runs of combining marks.
class Normalizer {
 public:
  /// Throws ModelError, naming the type, for any other normalizer.
  explicit Normalizer(const ConfigNode& config);

  /// The normalized `text` (valid UTF-8). It lies in `buffer`, or is `text` itself if nothing had
  /// to change. Safe from several threads, one buffer each.
  std::string_view Apply(std::string_view text, std::string* buffer) const;

 private:
  /// Code points from here up never change and never touch their neighbours.
  static constexpr uint32_t kTableEnd = 0x30000;

  void BuildTable();
  bool IsActive(uint32_t code_point) const {
    return code_point < kTableEnd && (active_[code_point >> 6] >> (code_point & 63) & 1) != 0;
  }
  size_t FindActive(std::string_view text, size_t from) const;
  void AppendComposed(std::string_view text, std::vector<int32_t>* scratch, std::string* out) const;

  bool compose_ = false;
  /// One bit for each code point that can change or join what stands before it: combining marks,
  /// code points whose normal form is another, and second parts of compositions. A text without one
  /// is normalized, and a text may be cut before any other code point.
  std::vector<uint64_t> active_;
};

}  // namespace affine
