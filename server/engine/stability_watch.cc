#include "server/engine/stability_watch.h"

#include <algorithm>

namespace affine {

StabilityWatch::StabilityWatch(const ModelInfo& info, int32_t sample_every,
                               const StabilityLimits& limits, LiveRequests& live,
                               EngineObserver& observer)
    : num_heads_(info.num_heads),
      width_(static_cast<size_t>(info.num_layers) * info.num_heads),
      sample_every_(sample_every),
      limits_(limits),
      live_(live),
      observer_(observer) {}

bool StabilityWatch::SampleNext() {
  const bool samples = SamplesNext();
  steps_unsampled_ = samples ? 0 : steps_unsampled_ + 1;
  return samples;
}

// A prompt that is observed whole would outweigh all others; it is left out of the sample.
void StabilityWatch::ChooseSampled(const StepPlan& plan) {
  const size_t slices = plan.slices.size();
  size_t chosen = 0;
  for (size_t i = 0; i < slices && chosen < kMostSampled; ++i) {
    const size_t slice = turn_++ % slices;
    const bool whole = live_.Of(*plan.slices[slice].sequence).request.stability;
    if (whole && plan.slices[slice].count > 1) continue;
    sampled_[slice] = true;
    ++chosen;
  }
}

void StabilityWatch::Prepare(const StepPlan& plan, std::span<SequenceSlice> slices) {
  sampled_.assign(slices.size(), false);
  ends_.assign(slices.size(), false);
  observed_.clear();
  if (SampleNext()) ChooseSampled(plan);
  for (size_t i = 0; i < slices.size(); ++i) {
    const LiveRequest& live = live_.Of(*plan.slices[i].sequence);
    const bool whole = live.request.stability && live.observed_end < plan.slices[i].end();
    if (!whole && !sampled_[i]) continue;
    slices[i].observe_from = whole ? live.observed_end : plan.slices[i].end() - 1;
    observed_.push_back({i, sampled_[i]});
  }
  heads_.assign(observed_.size() * width_, HeadStability());
  for (size_t k = 0; k < observed_.size(); ++k) {
    const size_t slice = observed_[k].slice;
    LiveRequest& live = live_.Of(*plan.slices[slice].sequence);
    if (AddsInPlace(plan.slices[slice], live)) {
      if (!live.stability) live.stability = std::make_shared<std::vector<HeadStability>>(width_);
      std::ranges::copy(*live.stability, HeadsOf(k).begin());
      slices[slice].stability = live.stability->data();
    } else {
      slices[slice].stability = HeadsOf(k).data();
    }
  }
}

// A prompt's chunks add to the request's sums position by position, so that how it was cut up
// changes no bit of them. What a decode measured can be added afterwards: it is one position.
bool StabilityWatch::AddsInPlace(const PlannedSlice& slice, const LiveRequest& live) {
  return live.request.stability && slice.end() - std::max(slice.start, live.observed_end) > 1;
}

void StabilityWatch::Collect(const StepPlan& plan) {
  if (observed_.empty()) return;
  sum_.assign(width_, HeadStability());
  bool any_sampled = false;
  for (size_t k = 0; k < observed_.size(); ++k) {
    CollectSlice(plan.slices[observed_[k].slice], observed_[k], HeadsOf(k));
    any_sampled |= observed_[k].sampled;
  }
  if (any_sampled) observer_.OnStability(sum_);
}

void StabilityWatch::CollectSlice(const PlannedSlice& slice, const Observed& observed,
                                  std::span<HeadStability> heads) {
  LiveRequest& live = live_.Of(*slice.sequence);
  int32_t from = slice.end() - 1;
  if (live.request.stability && live.observed_end < slice.end()) {
    from = std::max(slice.start, live.observed_end);
    if (!live.stability) live.stability = std::make_shared<std::vector<HeadStability>>(width_);
    const bool in_place = AddsInPlace(slice, live);
    for (size_t i = 0; i < width_; ++i) {
      HeadStability& sum = (*live.stability)[i];
      if (in_place) {
        heads[i] = sum.Since(heads[i]);
      } else {
        sum.Add(heads[i]);
      }
    }
    live.observed_end = slice.end();
  }
  if (observed.sampled) {
    for (size_t i = 0; i < width_; ++i) sum_[i].Add(heads[i]);
  }
  if (const std::optional<LimitBreach> breach = Judge(slice, live, heads, from)) {
    ends_[observed.slice] = Tell(live, *breach);
  }
}

std::optional<LimitBreach> StabilityWatch::Judge(const PlannedSlice& slice, const LiveRequest& live,
                                                 std::span<const HeadStability> heads,
                                                 int32_t from) const {
  const bool enough_keys = std::min(from, slice.end() - 1) + 1 >= StabilityLimits::kEntropyKeys;
  std::optional<LimitBreach> breach = FindBreach(
      heads, num_heads_, limits_, {.scores = true, .entropy = enough_keys, .drift = false});
  if (!breach && live.stability) {
    breach = FindBreach(*live.stability, num_heads_, limits_,
                        {.scores = false, .entropy = false, .drift = true});
  }
  return breach;
}

// Once for each request and limit. True if the request is to end.
bool StabilityWatch::Tell(LiveRequest& live, const LimitBreach& breach) const {
  const uint32_t bit = 1u << static_cast<uint32_t>(breach.limit);
  if ((live.breaches & bit) == 0) observer_.OnUnstable(live.request, breach);
  live.breaches |= bit;
  return limits_.end_requests;
}

}  // namespace affine
