// What becomes of the pieces that a pattern cuts a text into.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace affine {

/// Named as in tokenizer.json.
enum class SplitBehavior { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// A part of a text; the parts of one text cover it in order.
struct SplitPart {
  size_t begin;
  size_t end;
  bool is_match;  // the pattern matched it, otherwise it lies between matches
};

/// Appends the pieces of `text`, none of them empty, to `pieces`. May reorder `parts`.
void ApplySplitBehavior(std::string_view text, SplitBehavior behavior,
                        std::vector<SplitPart>* parts, std::vector<std::string_view>* pieces);

}  // namespace affine
