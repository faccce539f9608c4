#include "model/tokenizer/split_behavior.h"

#include <algorithm>

namespace affine {
namespace {

/// Whether `part`, coming after a part that was a match or not, joins that one.
bool JoinsLast(SplitBehavior behavior, bool is_match, bool last_was_match) {
  if (behavior == SplitBehavior::kContiguous) return is_match == last_was_match;
  return is_match && !last_was_match;  // merged with previous, or seen backwards with next
}

/// Joins parts in the order in which they stand. The part before the first counts as no match.
void Join(SplitBehavior behavior, std::vector<SplitPart>* parts) {
  size_t kept = 0;
  bool last_was_match = false;
  for (const SplitPart part : *parts) {
    if (kept > 0 && JoinsLast(behavior, part.is_match, last_was_match)) {
      SplitPart& last = (*parts)[kept - 1];
      last.begin = std::min(last.begin, part.begin);
      last.end = std::max(last.end, part.end);
    } else {
      (*parts)[kept++] = part;
    }
    last_was_match = part.is_match;
  }
  parts->resize(kept);
}

}  // namespace

void ApplySplitBehavior(std::string_view text, SplitBehavior behavior,
                        std::vector<SplitPart>* parts, std::vector<std::string_view>* pieces) {
  switch (behavior) {
    case SplitBehavior::kIsolated:
      break;
    case SplitBehavior::kRemoved:
      std::erase_if(*parts, [](const SplitPart& part) { return part.is_match; });
      break;
    case SplitBehavior::kMergedWithPrevious:
    case SplitBehavior::kContiguous:
      Join(behavior, parts);
      break;
    case SplitBehavior::kMergedWithNext:
      std::reverse(parts->begin(), parts->end());
      Join(behavior, parts);
      std::reverse(parts->begin(), parts->end());
      break;
  }
  for (const SplitPart& part : *parts) {
    if (part.end > part.begin) pieces->push_back(text.substr(part.begin, part.end - part.begin));
  }
}

}  // namespace affine
