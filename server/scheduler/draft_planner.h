// Speculation without a second model: which guessed tokens a step computes beside the real ones.
#pragma once

#include <cstdint>

#include "server/scheduler/block_tables.h"
#include "server/scheduler/sequence.h"
#include "server/scheduler/step_plan.h"
#include "server/scheduler/step_time_model.h"

namespace affine {

struct DraftOptions {
  int32_t max_tokens = 0;      // most drafts of a sequence in a step; 0: none
  int32_t longest_match = 3;   // tokens that must have stood together before, at best; at most 16
  int32_t shortest_match = 1;  // and at least
};

/// A draft is a guess at a sequence's next tokens that the step computes after the real one, where
/// a row more costs little. The model samples at each of these positions with that position's own
/// random number. A draft counts while it equals the token sampled at its place, and the first
/// sample that differs is itself the right token. So output and log-probabilities are bit for bit
/// those of going token by token, sampled ones too, and nothing needs to be weighed or rejected by
/// chance: a draft decides how much a step yields, never what.
///
/// A step gets the drafts that raise its tokens per second: by each sequence's record, which tells
/// how often guesses come true, and by the measured cost of a row. The record is kept of guesses
/// that were not computed too, since comparing them with what came costs nothing: a sequence that
/// begins to repeat itself is found out without trials. Not thread-safe.
class DraftPlanner {
 public:
  /// `tables` and `step_times` outlive this. Throws std::invalid_argument if the options
  /// contradict.
  DraftPlanner(const DraftOptions& options, BlockTables& tables, const StepTimeModel& step_times);

  /// Adds drafts to the plan's decodes, at most `budget` in all, in blocks that are free.
  void AddDrafts(StepPlan& plan, int32_t budget);
  /// The last `sampled` tokens of `sequence` are new: compares them with what was guessed.
  void Learn(Sequence& sequence, int32_t sampled) const;

 private:
  void Guess(Sequence& sequence) const;

  const DraftOptions options_;
  BlockTables& tables_;
  const StepTimeModel& step_times_;
};

}  // namespace affine
