#include "server/scheduler/draft_planner.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>

namespace affine {
namespace {

/// What a step yields and takes.
struct StepYield {
  double tokens;  // expected
  double rows;    // its time in rows: the fixed part, and the rows themselves
  /// Whether one row that yields a token with this probability raises tokens per row.
  bool GrowsBy(double probability) const { return probability * rows > tokens; }
  void Add(double probability) {
    tokens += probability;
    rows += 1.0;
  }
};

}  // namespace

DraftPlanner::DraftPlanner(const DraftOptions& options, BlockTables& tables,
                           const StepTimeModel& step_times)
    : options_(options), tables_(tables), step_times_(step_times) {
  if (options.max_tokens < 0) {
    throw std::invalid_argument("max_tokens of drafts is " + std::to_string(options.max_tokens) +
                                "; it must be at least 0, which means no drafts");
  }
  if (options.shortest_match < 1 || options.longest_match < options.shortest_match ||
      options.longest_match > GuessRecord::kLongestMatch) {
    throw std::invalid_argument(
        "shortest_match is " + std::to_string(options.shortest_match) + " and longest_match " +
        std::to_string(options.longest_match) +
        "; the first must be at least 1 and the second no less than the first and at most " +
        std::to_string(GuessRecord::kLongestMatch));
  }
}

// The token sampled last is of no use as a draft's place: with it the sequence is as long as it may
// become, and nothing is sampled after it.
void DraftPlanner::Guess(Sequence& sequence) const {
  const int32_t room = sequence.max_length - sequence.length() - 1;
  const int32_t count = std::min(options_.max_tokens, room);
  if (count <= 0) return;
  if (!sequence.ngrams) sequence.ngrams.emplace(options_.longest_match, options_.shortest_match);
  sequence.guess_match = sequence.ngrams->Guess(sequence.tokens, count, sequence.guesses);
}

void DraftPlanner::AddDrafts(StepPlan& plan, int32_t budget) {
  if (options_.max_tokens == 0) return;
  StepWork decodes;
  for (const PlannedSlice& slice : plan.slices) {
    if (slice.decode) decodes.AddDecode(slice.start, slice.count);
  }
  if (decodes.decode_tokens == 0) return;
  const auto tokens = static_cast<double>(decodes.decode_tokens);
  StepYield yield = {.tokens = tokens, .rows = step_times_.FixedDecodeTokens(decodes) + tokens};
  for (PlannedSlice& slice : plan.slices) {
    Sequence& sequence = *slice.sequence;
    if (!slice.decode || !sequence.may_draft) continue;
    Guess(sequence);
    const auto most = std::min(static_cast<int32_t>(sequence.guesses.size()), budget);
    const double hit_rate = sequence.record.hit_rate(sequence.guess_match);
    StepYield with = yield;
    int32_t wanted = 0;
    for (double p = hit_rate; wanted < most && with.GrowsBy(p); p *= hit_rate) {
      with.Add(p);
      ++wanted;
    }
    if (wanted == 0) continue;
    slice.num_drafts = tables_.Grow(sequence, slice.count + wanted) - slice.count;
    double p = hit_rate;
    for (int32_t i = 0; i < slice.num_drafts; ++i, p *= hit_rate) yield.Add(p);
    budget -= slice.num_drafts;
  }
}

void DraftPlanner::Learn(Sequence& sequence, int32_t sampled) const {
  const std::span<const int32_t> came = std::span(sequence.tokens).last(sampled);
  const size_t compared = std::min(came.size(), sequence.guesses.size());
  for (size_t i = 0; i < compared; ++i) {
    const bool hit = sequence.guesses[i] == came[i];
    sequence.record.Note(sequence.guess_match, hit);
    if (!hit) break;  // later guesses went on from a token that did not come
  }
  sequence.guesses.clear();
}

}  // namespace affine
