#include "server/engine/batch_builder.h"

#include <algorithm>
#include <span>

namespace affine {

StepBatch BatchBuilder::Build(const StepPlan& plan) {
  copies_.clear();
  for (const PlannedCopy& copy : plan.copies) copies_.push_back({copy.from, copy.to});
  slices_.clear();
  drafted_.clear();
  size_t drafted = 0;
  for (const PlannedSlice& planned : plan.slices) {
    if (planned.num_drafts > 0) drafted += planned.count + planned.num_drafts;
  }
  drafted_.reserve(drafted);  // slices view it
  for (const PlannedSlice& planned : plan.slices) {
    const Sequence& sequence = *planned.sequence;
    const LiveRequest& live = live_.Of(sequence);
    const std::span tokens(sequence.tokens);
    SequenceSlice& slice = slices_.emplace_back();
    slice.tokens =
        planned.num_drafts > 0 ? WithDrafts(planned) : tokens.subspan(planned.start, planned.count);
    slice.start = planned.start;
    slice.block_table = sequence.blocks;
    slice.samples = planned.num_samples();
    slice.sampling = &live.request.sampling;
    slice.before = tokens.first(planned.start);
    slice.prompt_length = sequence.prompt_length;
    if (live.grammar && slice.samples > 0) slice.masks = live.grammar->mask();
    if (live.owes_prompt_scores) {  // then no token beyond the prompt is there yet
      const int32_t next = planned.start + 1;
      slice.targets = tokens.subspan(next, std::min(planned.count, sequence.prompt_length - next));
    }
  }
  return {.copies = copies_, .slices = slices_};
}

std::span<const int32_t> BatchBuilder::WithDrafts(const PlannedSlice& planned) {
  const Sequence& sequence = *planned.sequence;
  const size_t begin = drafted_.size();
  const auto own = sequence.tokens.begin() + planned.start;
  drafted_.insert(drafted_.end(), own, own + planned.count);
  const auto guess = sequence.guesses.begin();
  drafted_.insert(drafted_.end(), guess, guess + planned.num_drafts);
  return std::span(drafted_).subspan(begin);
}

}  // namespace affine
