#include "server/engine/batch_builder.h"

#include <algorithm>
#include <span>

namespace affine {

StepBatch BatchBuilder::Build(const StepPlan& plan) {
  slices_.clear();
  for (const PlannedSlice& planned : plan.slices) {
    const Sequence& sequence = *planned.sequence;
    const LiveRequest& live = live_.Of(sequence);
    const std::span tokens(sequence.tokens);
    SequenceSlice& slice = slices_.emplace_back();
    slice.tokens = tokens.subspan(planned.start, planned.count);
    slice.start = planned.start;
    slice.block_table = sequence.blocks;
    slice.sample = planned.sample();
    slice.sampling = &live.request.sampling;
    if (live.owes_prompt_scores) {  // then no token beyond the prompt is there yet
      const int32_t next = planned.start + 1;
      slice.targets = tokens.subspan(next, std::min(planned.count, sequence.prompt_length - next));
    }
  }
  return {.copies = {}, .slices = slices_};
}

}  // namespace affine
