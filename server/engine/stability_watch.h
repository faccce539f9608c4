// Decides whose attention a step observes, and what comes of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/model_info.h"
#include "server/engine/engine_observer.h"
#include "server/engine/live_requests.h"
#include "server/engine/stability_limits.h"
#include "server/scheduler/step_plan.h"

namespace affine {

/// Requests that ask for it are observed at every position, each once: a position that is computed
/// again after a preemption is not counted again. Beside them every so many steps are sampled: the
/// last token of some sequences, which stand for the traffic in the metrics. Used on the engine's
/// thread alone.
class StabilityWatch {
 public:
  /// Most sequences that a sampled step observes; they take turns.
  static constexpr size_t kMostSampled = 8;

  /// `sample_every` 0: no step is sampled. References outlive this object.
  StabilityWatch(const ModelInfo& info, int32_t sample_every, const StabilityLimits& limits,
                 LiveRequests& live, EngineObserver& observer);

  /// Whether the next step will be sampled. Such a step is to have no drafts, nor is a request that
  /// asks to be observed: what is measured are the tokens that came, each once.
  bool SamplesNext() const { return sample_every_ > 0 && steps_unsampled_ + 1 >= sample_every_; }
  /// Marks what the model is to observe; `slices` are the plan's.
  void Prepare(const StepPlan& plan, std::span<SequenceSlice> slices);
  /// After the step: adds up, tells the observer, judges.
  void Collect(const StepPlan& plan);
  /// The limit for which the sequence of the plan's slice is to end now.
  bool Ends(size_t slice) const { return ends_[slice]; }

 private:
  struct Observed {
    size_t slice;  // of the plan
    bool sampled;
  };
  bool SampleNext();
  void ChooseSampled(const StepPlan& plan);
  std::span<HeadStability> HeadsOf(size_t observed) {
    return std::span(heads_).subspan(observed * width_, width_);
  }
  void CollectSlice(const PlannedSlice& slice, const Observed& observed,
                    std::span<HeadStability> heads);
  static bool AddsInPlace(const PlannedSlice& slice, const LiveRequest& live);
  std::optional<LimitBreach> Judge(const PlannedSlice& slice, const LiveRequest& live,
                                   std::span<const HeadStability> heads, int32_t from) const;
  bool Tell(LiveRequest& live, const LimitBreach& breach) const;

  const int32_t num_heads_;
  const size_t width_;  // layers * heads
  const int32_t sample_every_;
  const StabilityLimits limits_;
  LiveRequests& live_;
  EngineObserver& observer_;
  int32_t steps_unsampled_ = 0;  // since the latest sampled step
  size_t turn_ = 0;              // whose turn it is to be sampled, modulo the slices
  // Of the step at hand, reused.
  std::vector<bool> sampled_;  // [slices]
  std::vector<Observed> observed_;
  std::vector<HeadStability> heads_;  // [observed, layers, heads]; of a slice that adds in place:
                                      // the request's sums before the step
  std::vector<HeadStability> sum_;    // [layers, heads], of the sampled ones
  std::vector<bool> ends_;            // [slices]
};

}  // namespace affine
