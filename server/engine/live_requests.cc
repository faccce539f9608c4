#include "server/engine/live_requests.h"

#include <algorithm>
#include <string>

namespace affine {

LiveRequests::LiveRequests(const ModelInfo& info, Scheduler& scheduler, Publisher& publisher)
    : info_(info), scheduler_(scheduler), publisher_(publisher) {}

void LiveRequests::Add(uint64_t handle, Request request) {
  auto live = std::make_unique<LiveRequest>();
  const int32_t prompt_length = static_cast<int32_t>(request.prompt.size());
  live->owes_prompt_scores = request.sampling.prompt_top_log_probs >= 0;
  live->progress.prompt_tokens = prompt_length;
  live->progress.arrival = request.arrival;

  Sequence& sequence = live->sequence;
  sequence.id = handle;
  sequence.priority = request.priority;
  sequence.prompt_length = prompt_length;
  sequence.max_length =
      prompt_length + std::min(request.max_tokens, info_.max_model_len - prompt_length);
  sequence.lookup_prefix = !live->owes_prompt_scores && !request.stability;
  // A draft's row would need the mask after the drafts before it.
  sequence.may_draft = !request.stability && request.grammar == nullptr;
  sequence.cache_salt = request.cache_salt;
  sequence.tokens = request.prompt;
  if (request.deadline) deadlines_.emplace(*request.deadline, handle);
  if (!request.same_prompt) first_of_prompt_ = handle;
  // Who measures the attention of a prompt computes it.
  if (request.same_prompt && !request.stability) {
    scheduler_.AddSibling(by_handle_.at(first_of_prompt_)->sequence, sequence);
  } else {
    scheduler_.Add(sequence);
  }
  if (request.grammar != nullptr) {
    live->grammar.emplace(request.grammar, info_.vocab_size, info_.eos_token_ids,
                          request.stop_token_ids);
  }
  live->request = std::move(request);
  by_handle_.emplace(handle, std::move(live));
}

LiveRequest* LiveRequests::Find(uint64_t handle) {
  const auto found = by_handle_.find(handle);
  return found == by_handle_.end() ? nullptr : found->second.get();
}

void LiveRequests::End(LiveRequest& live, Ending ending, TokenEvent event, Clock::Time now) {
  const uint64_t handle = live.sequence.id;
  scheduler_.Remove(live.sequence);
  if (live.request.deadline) deadlines_.erase({*live.request.deadline, handle});
  RequestFinish finish = live.progress;
  finish.reason = ending.reason;
  finish.error = std::move(ending.error);
  finish.stop_token = ending.stop_token;
  finish.first_write = live.request.sink->first_write();
  finish.finished = now;
  finish.stability = live.stability;
  event.finish = std::move(finish);
  const auto place = by_handle_.find(handle);
  std::unique_ptr<LiveRequest> ended = std::move(place->second);
  by_handle_.erase(place);
  publisher_.AddLast(std::move(ended), std::move(event));
}

void LiveRequests::EndWithError(LiveRequest& live, RequestError error, Clock::Time now) {
  End(live, {.reason = FinishReason::kError, .error = std::move(error), .stop_token = {}}, {}, now);
}

int32_t LiveRequests::EndExpired(Clock::Time now) {
  int32_t ended = 0;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    LiveRequest& live = *by_handle_.at(deadlines_.begin()->second);
    const std::string state =
        live.progress.first_scheduled
            ? "after " + std::to_string(live.progress.output_tokens) + " output tokens"
            : "while the request was queued";
    EndWithError(live,
                 {.cause = ErrorCause::kDeadline,
                  .message = "the deadline passed " + state,
                  .param = {},
                  .retry_after_seconds = 0},
                 now);
    ++ended;
  }
  return ended;
}

void LiveRequests::EndAll(const RequestError& error, Clock::Time now) {
  while (!by_handle_.empty()) EndWithError(*by_handle_.begin()->second, error, now);
}

}  // namespace affine
