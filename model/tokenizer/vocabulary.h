// The vocabulary of a tokenizer.json as it is spelled there, for reading the rest of the file.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/tokenizer/token_index.h"
#include "model/tokenizer/tokenizer_file.h"

namespace affine {

class Vocabulary {
 public:
  /// Throws ModelError if two entries have the same token or the same id. Ids may have holes.
  explicit Vocabulary(const TokenizerFile& file);

  /// The id of `token`, spelled as in the file, or TokenIndex::kNone.
  int32_t Find(std::string_view token) const { return index_.Find(token); }
  bool HasId(int32_t id) const;
  /// How many tokens there are.
  size_t size() const { return ids_.size(); }

 private:
  TokenIndex index_;
  std::vector<int32_t> ids_;  // sorted
};

}  // namespace affine
