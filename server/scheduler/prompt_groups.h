// Which sequences begin with the same prompt, so that it is computed once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "server/scheduler/sequence.h"

namespace affine {

/// A group's sequences differ in what follows the prompt alone. The first in rank computes the
/// prompt up to its last token; the others then begin with a copy of its cache (fork), and each
/// computes that last token for a sample of its own. If the first ends or is preempted before, the
/// next takes its place: so a group never waits for one that does not advance. Not thread-safe.
class PromptGroups {
 public:
  /// `another`, of the same prompt and salt and of lower rank than all so far, is `first`'s sibling
  /// from now on.
  void Join(Sequence& first, Sequence& another);
  /// Forgets a sequence; one without siblings, too.
  void Leave(const Sequence& sequence);
  /// A running sibling whose cache holds all of the prompt but its last token, at least; null if
  /// there is none, or nothing but the last token.
  const Sequence* SourceOf(const Sequence& sequence) const;
  /// Another is about to compute the prompt that `sequence` would have to.
  bool MustWait(const Sequence& sequence) const;
  /// Siblings wait for the prompt of `sequence`, which has no output yet.
  bool IsAwaited(const Sequence& sequence) const;

 private:
  const std::vector<Sequence*>* SiblingsOf(const Sequence& sequence) const;

  std::unordered_map<uint64_t, std::vector<Sequence*>> groups_;  // in order of rank
};

}  // namespace affine
