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

StepOutcome StepCommit::Apply(const StepPlan& plan, std::span<const SliceResult> results,
                              Clock::Time now) {
  outcome_ = {};
  for (size_t i = 0; i < plan.slices.size(); ++i) {
    ApplySlice(plan.slices[i], results[i], watch_.Ends(i), now);
  }
  return outcome_;
}

void StepCommit::Fail(const StepPlan& plan, const RequestError& error, Clock::Time now) {
  for (const PlannedSlice& slice : plan.slices) {
    live_.EndWithError(live_.Of(*slice.sequence), error, now);
  }
}

void StepCommit::ApplySlice(const PlannedSlice& slice, const SliceResult& result, bool unstable,
                            Clock::Time now) {
  Sequence& sequence = *slice.sequence;
  LiveRequest& live = live_.Of(sequence);
  if (!result.finite) return ApplyNonFinite(slice, live, now);
  const bool reached_end = slice.end() == sequence.length();
  TokenEvent event;
  if (unstable) {
    CollectPromptScores(live, slice, result, &event);
    live_.End(live, {.reason = FinishReason::kUnstable, .error = {}, .stop_token = {}},
              std::move(event), now);
    return;
  }
  const bool samples = slice.sample();
  scheduler_.Commit(slice);
  CollectPromptScores(live, slice, result, &event);
  std::optional<Ending> ending;
  if (samples) ending = TakeTokens(live, slice, result, now, &event);
  if (!ending && reached_end && sequence.length() >= sequence.max_length) {
    ending = {.reason = FinishReason::kLength, .error = {}, .stop_token = {}};
  }
  if (ending) {
    live_.End(live, *std::move(ending), std::move(event), now);
  } else if (!event.prompt.empty() || !event.tokens.empty()) {
    publisher_.Add(live, std::move(event));
  }
}

// Token by token, as if each had come from a step of its own: what was sampled after a draft counts
// only if that draft is the token that came. Drafts leave room for the last sample, so that
// max_length is reached, if at all, with the last token.
std::optional<Ending> StepCommit::TakeTokens(LiveRequest& live, const PlannedSlice& slice,
                                             const SliceResult& result, Clock::Time now,
                                             TokenEvent* event) {
  Sequence& sequence = live.sequence;
  std::optional<Ending> ending;
  int32_t count = 0;
  for (bool goes_on = true; goes_on;) {
    const ScoredToken& token = result.sampled[count];
    sequence.tokens.push_back(token.id);
    event->tokens.push_back(token);
    if (std::ranges::binary_search(live.request.stop_token_ids, token.id)) {
      ending = {.reason = FinishReason::kStop, .error = {}, .stop_token = token.id};
    }
    if (!ending && live.grammar) {
      live.grammar->Take(token.id);
      ending = EndOfGrammar(live);
    }
    goes_on = !ending && count < slice.num_drafts && sequence.guesses[count] == token.id;
    ++count;
  }
  if (slice.decode) scheduler_.CommitDrafts(slice, count);
  if (live.progress.output_tokens == 0) event->first_token = now;
  NoteTokens(live, count, now);
  ++outcome_.sampled_sequences;
  outcome_.sampled_tokens += count;
  outcome_.accepted_drafts += count - 1;
  return ending;
}

std::optional<Ending> EndOfGrammar(const LiveRequest& live) {
  switch (live.grammar->next()) {
    case GrammarState::Next::kToken:
      return std::nullopt;
    case GrammarState::Next::kEnd:
      return Ending{.reason = FinishReason::kStop, .error = {}, .stop_token = {}};
    case GrammarState::Next::kFailed:
      break;
  }
  const int32_t tokens = live.sequence.length() - live.sequence.prompt_length;
  return Ending{.reason = FinishReason::kError,
                .error = RequestError{.cause = ErrorCause::kBadInput,
                                      .message = "`" + live.request.grammar_field + "` is, after " +
                                                 std::to_string(tokens) +
                                                 " tokens of output, too ambiguous to follow, or "
                                                 "allows no token at all; make it simpler",
                                      .param = live.request.grammar_field,
                                      .retry_after_seconds = 0},
                .stop_token = {}};
}

// One draft that is not finite spoils rows beside it: that their weights for it are 0 does not
// help, 0 times NaN being NaN. And it stays in the cache. So nothing of the step is believed.
void StepCommit::ApplyNonFinite(const PlannedSlice& slice, LiveRequest& live, Clock::Time now) {
  if (slice.num_drafts > 0) {
    scheduler_.TakeBack(live.sequence);
    ++live.progress.preemptions;
    ++outcome_.taken_back;
    return;
  }
  observer_.OnUnstable(live.request, {.limit = StabilityLimit::kNonFinite});
  live_.EndWithError(live,
                     {.cause = ErrorCause::kNonFinite,
                      .message = "the model's logits were not finite after token " +
                                 std::to_string(slice.end()) + " of this sequence",
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

void StepCommit::NoteTokens(LiveRequest& live, int32_t count, Clock::Time now) const {
  RequestFinish& progress = live.progress;
  const int32_t first = progress.output_tokens == 0 ? 1 : 0;
  if (first == 1) {
    progress.first_token = now;
    live.last_token = now;
  }
  Clock::Duration left = now - live.last_token;
  for (int32_t i = first; i < count; ++i) {
    const Clock::Duration share = left / (count - i);  // all shares add up to the whole
    observer_.OnInterTokenGap(share);
    left -= share;
  }
  progress.output_tokens += count;
  live.last_token = now;
}

void CheckResults(const StepBatch& batch, std::span<const SliceResult> results) {
  if (results.size() != batch.slices.size()) {
    throw std::logic_error("the model answered " + std::to_string(results.size()) + " of " +
                           std::to_string(batch.slices.size()) + " slices");
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].finite) continue;
    if (static_cast<size_t>(batch.slices[i].samples) != results[i].sampled.size()) {
      throw std::logic_error("slice " + std::to_string(i) + ": " +
                             std::to_string(results[i].sampled.size()) + " samples where " +
                             std::to_string(batch.slices[i].samples) + " were asked for");
    }
    if (batch.slices[i].targets.size() != results[i].scored.size()) {
      throw std::logic_error("slice " + std::to_string(i) + ": " +
                             std::to_string(results[i].scored.size()) + " scores for " +
                             std::to_string(batch.slices[i].targets.size()) + " targets");
    }
  }
}

}  // namespace affine
