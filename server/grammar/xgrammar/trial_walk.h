// What following a grammar costs, found out by following it.
#pragma once

#include <xgrammar/xgrammar.h>

#include <cstdint>

#include "server/grammar/xgrammar/work_budget.h"

namespace affine {

/// In units of WorkBudget, for a token and the mask before it.
struct TrialCost {
  int64_t mean = 0;
  int64_t worst = 0;
  /// There is a first token.
  bool begins = false;
};

/// Follows `compiled` for some tokens, each drawn from its mask by a sequence of numbers that is
/// always the same. `budget` is the thread's, and ends it too; so does a token that takes more than
/// `most` units.
TrialCost WalkOnTrial(const xgrammar::CompiledGrammar& compiled, const WorkBudget& budget,
                      int64_t most);

}  // namespace affine
