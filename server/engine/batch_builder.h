// A step plan in the model's words.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/language_model.h"
#include "server/engine/live_requests.h"
#include "server/scheduler/step_plan.h"

namespace affine {

/// Used on the engine's thread alone.
class BatchBuilder {
 public:
  /// `live` outlives this object.
  explicit BatchBuilder(LiveRequests& live) : live_(live) {}
  /// Slices in the plan's order, viewing the sequences' own tokens and tables, or a copy of the
  /// tokens that drafts follow: valid until these change, or the next call.
  StepBatch Build(const StepPlan& plan);
  /// The latest batch's, to be marked further.
  std::span<SequenceSlice> slices() { return slices_; }

 private:
  std::span<const int32_t> WithDrafts(const PlannedSlice& planned);

  LiveRequests& live_;
  std::vector<int32_t> drafted_;  // of each slice with drafts: its own tokens, then the drafts
  std::vector<BlockCopy> copies_;
  std::vector<SequenceSlice> slices_;
};

}  // namespace affine
