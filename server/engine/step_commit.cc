#include "server/engine/step_commit.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace affine {

StepCommit::StepCommit(Scheduler& scheduler, LiveRequests& live, Publisher& publisher,
                       EngineObserver& observer, const StabilityWatch& watch)
    : scheduler_(scheduler),
      live_(live),
      publisher_(publisher),
      observer_(observer),
      watch_(watch) {}

int32_t StepCommit::Apply(const StepPlan& plan, std::span<const SliceResult> results,
                          Clock::Time now) {
  int32_t sampled = 0;
  for (size_t i = 0; i < plan.slices.size(); ++i) {
    if (ApplySlice(plan.slices[i], results[i], watch_.Ends(i), now)) ++sampled;
  }
  return sampled;
}

void StepCommit::Fail(const StepPlan& plan, const RequestError& error, Clock::Time now) {
  for (const PlannedSlice& slice : plan.slices) {
    live_.EndWithError(live_.Of(*slice.sequence), error, now);
  }
}

// True if a token was sampled.
bool StepCommit::ApplySlice(const PlannedSlice& slice, const SliceResult& result, bool unstable,
                            Clock::Time now) {
  Sequence& sequence = *slice.sequence;
  LiveRequest& live = live_.Of(sequence);
  if (!result.finite) {
    EndNonFinite(live, slice.end(), now);
    return false;
  }
  const bool samples = slice.sample();
  const bool reached_end = slice.end() == sequence.length();
  TokenEvent event;
  if (unstable) {
    CollectPromptScores(live, slice, result, &event);
    live_.End(live, {.reason = FinishReason::kUnstable, .error = {}, .stop_token = {}},
              std::move(event), now);
    return false;
  }
  scheduler_.Commit(slice);
  CollectPromptScores(live, slice, result, &event);
  std::optional<Ending> ending;
  if (samples) {
    AppendToken(live, *result.sampled, now);
    if (live.progress.output_tokens == 1) event.first_token = now;
    event.tokens.push_back(*result.sampled);
    if (std::ranges::binary_search(live.request.stop_token_ids, result.sampled->id)) {
      ending = {.reason = FinishReason::kStop, .error = {}, .stop_token = result.sampled->id};
    }
  }
  if (!ending && reached_end && sequence.length() >= sequence.max_length) {
    ending = {.reason = FinishReason::kLength, .error = {}, .stop_token = {}};
  }
  if (ending) {
    live_.End(live, *std::move(ending), std::move(event), now);
  } else if (!event.prompt.empty() || !event.tokens.empty()) {
    publisher_.Add(live, std::move(event));
  }
  return samples;
}

void StepCommit::EndNonFinite(LiveRequest& live, int32_t tokens, Clock::Time now) {
  observer_.OnUnstable(live.request, {.limit = StabilityLimit::kNonFinite});
  live_.EndWithError(live,
                     {.cause = ErrorCause::kNonFinite,
                      .message = "the model's logits were not finite after token " +
                                 std::to_string(tokens) + " of this sequence",
                      .param = {},
                      .retry_after_seconds = 0},
                     now);
}

void StepCommit::CollectPromptScores(LiveRequest& live, const PlannedSlice& slice,
                                     const SliceResult& result, TokenEvent* event) const {
  if (!live.owes_prompt_scores) return;
  live.prompt_scores.insert(live.prompt_scores.end(), result.scored.begin(), result.scored.end());
  if (slice.end() < live.sequence.prompt_length) return;
  event->prompt = std::exchange(live.prompt_scores, {});
  live.owes_prompt_scores = false;
  live.sequence.lookup_prefix = !live.request.stability;
}

void StepCommit::AppendToken(LiveRequest& live, const ScoredToken& token, Clock::Time now) {
  live.sequence.tokens.push_back(token.id);
  if (live.progress.output_tokens++ == 0) {
    live.progress.first_token = now;
  } else {
    observer_.OnInterTokenGap(now - live.last_token);
  }
  live.last_token = now;
}

void CheckResults(const StepBatch& batch, std::span<const SliceResult> results) {
  if (results.size() != batch.slices.size()) {
    throw std::logic_error("the model answered " + std::to_string(results.size()) + " of " +
                           std::to_string(batch.slices.size()) + " slices");
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].finite) continue;
    if (batch.slices[i].sample != results[i].sampled.has_value()) {
      throw std::logic_error(
          "slice " + std::to_string(i) + ": a sample was " +
          (batch.slices[i].sample ? "asked for and is missing" : "not asked for"));
    }
    if (batch.slices[i].targets.size() != results[i].scored.size()) {
      throw std::logic_error("slice " + std::to_string(i) + ": " +
                             std::to_string(results[i].scored.size()) + " scores for " +
                             std::to_string(batch.slices[i].targets.size()) + " targets");
    }
  }
}

}  // namespace affine
