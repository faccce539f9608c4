#include "server/request/answer_group.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace affine {
namespace {

template <typename T>
void Append(std::vector<T>& to, std::vector<T> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

AnswerGroup::AnswerGroup(const ServedModel& model, Calls calls, int32_t num_answers,
                         int32_t num_candidates, bool shares_prompt_logprobs,
                         std::shared_ptr<ReadySignal> ready)
    : model_(model),
      calls_(std::move(calls)),
      num_answers_(num_answers),
      num_candidates_(num_candidates),
      shares_prompt_logprobs_(shares_prompt_logprobs),
      ready_(std::move(ready)),
      begun_(calls_.size()),
      cached_(calls_.size()),
      prompt_logprobs_(calls_.size() / num_candidates),
      kept_(ranks() ? calls_.size() : 0),
      reading_(calls_.size()),
      to_end_(num_answers_ * static_cast<int32_t>(prompt_logprobs_.size())) {}

int32_t AnswerGroup::num_answers() const {
  return num_answers_ * static_cast<int32_t>(prompt_logprobs_.size());
}

const std::vector<int32_t>& AnswerGroup::prompt_of(int32_t answer) const {
  return calls_[static_cast<size_t>(answer / num_answers_) * num_candidates_]->plan().prompt;
}

void AnswerGroup::Cancel(RequestError why) {
  for (const auto& call : calls_) call->Cancel(why);
}

void AnswerGroup::NoteFirstWrite(Clock::Time when) { calls_[first_call_]->NoteFirstWrite(when); }

std::optional<CompletionChunk> AnswerGroup::Next() {
  if (closed_) return std::nullopt;
  ready_->Clear();
  while (ranked_.empty()) {
    std::optional<CompletionChunk> chunk = ReadNext();
    if (!chunk) return std::nullopt;
    if (chunk->end && chunk->end->error) return Failed(*std::move(chunk));
    if (!ranks()) return Given(*std::move(chunk));
    Keep(static_cast<size_t>(chunk->answer), *std::move(chunk));
    if (reading_ == 0) Rank();
  }
  CompletionChunk best = std::move(ranked_.front());
  ranked_.pop_front();
  return Given(std::move(best));
}

// The next chunk of any call, in turn; numbered by its call.
std::optional<CompletionChunk> AnswerGroup::ReadNext() {
  for (size_t tried = 0; tried < calls_.size(); ++tried) {
    const size_t call = (turn_ + tried) % calls_.size();
    std::optional<CompletionChunk> chunk = Read(call);
    if (!chunk) continue;
    turn_ = (call + 1) % calls_.size();
    return chunk;
  }
  return std::nullopt;
}

std::optional<CompletionChunk> AnswerGroup::Read(size_t call) {
  const size_t first = call - call % num_candidates_;
  if (shares_prompt_logprobs_ && call != first && !begun_[first]) return std::nullopt;
  std::optional<CompletionChunk> chunk = calls_[call]->Next();
  if (!chunk) return std::nullopt;
  chunk->answer = static_cast<int32_t>(call);
  if (shares_prompt_logprobs_ && !begun_[call]) SharePromptLogProbs(call, *chunk);
  begun_[call] = true;
  if (chunk->first_token) {
    if (has_first_token_) chunk->first_token.reset();
    if (!std::exchange(has_first_token_, true)) first_call_ = call;
  }
  if (chunk->end) {
    cached_[call] = chunk->end->usage.cached_tokens;
    --reading_;
  }
  return chunk;
}

void AnswerGroup::SharePromptLogProbs(size_t call, CompletionChunk& chunk) {
  std::vector<ScoredToken>& shared = prompt_logprobs_[call / num_candidates_];
  if (call % num_candidates_ == 0) {
    if (num_candidates_ > 1) shared = chunk.prompt_logprobs;
  } else {
    chunk.prompt_logprobs = shared;
  }
}

CompletionChunk AnswerGroup::Failed(CompletionChunk chunk) {
  closed_ = true;
  for (const auto& call : calls_) {
    if (!call->ended()) call->Cancel(*chunk.end->error);
  }
  if (ranks()) {
    chunk.answer = chunk.answer / num_candidates_ * num_answers_;
    chunk.text.clear();
    chunk.token_ids.clear();
    chunk.logprobs.clear();
  }
  chunk.total = Total();
  return chunk;
}

void AnswerGroup::Keep(size_t call, CompletionChunk chunk) {
  CompletionChunk& kept = kept_[call];
  kept.text += chunk.text;
  Append(kept.token_ids, std::move(chunk.token_ids));
  Append(kept.logprobs, std::move(chunk.logprobs));
  Append(kept.prompt_logprobs, std::move(chunk.prompt_logprobs));
  if (chunk.first_token) kept.first_token = chunk.first_token;
  if (chunk.end) kept.end = std::move(chunk.end);
}

void AnswerGroup::Rank() {
  // Whichever answers are given, the first of their chunks says when the first token was there.
  const std::optional<Clock::Time> first_token = kept_[first_call_].first_token;
  std::vector<size_t> order(num_candidates_);
  for (size_t first = 0; first < calls_.size(); first += num_candidates_) {
    std::iota(order.begin(), order.end(), first);
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [this](size_t call) { return calls_[call]->mean_log_prob(); });
    for (int32_t place = 0; place < num_answers_; ++place) {
      CompletionChunk& best = ranked_.emplace_back(std::move(kept_[order[place]]));
      best.answer = static_cast<int32_t>(first) / num_candidates_ * num_answers_ + place;
      best.first_token.reset();
    }
  }
  ranked_.front().first_token = first_token;
  kept_.clear();
}

CompletionChunk AnswerGroup::Given(CompletionChunk chunk) {
  if (chunk.end && --to_end_ == 0) {
    closed_ = true;
    chunk.total = Total();
  }
  return chunk;
}

CompletionUsage AnswerGroup::Total() const {
  CompletionUsage total;
  for (size_t call = 0; call < calls_.size(); ++call) {
    total.output_tokens += calls_[call]->delivered();
    if (call % num_candidates_ != 0) continue;
    total.prompt_tokens += static_cast<int32_t>(calls_[call]->plan().prompt.size());
    total.cached_tokens += cached_[call];
  }
  return total;
}

}  // namespace affine
