#include "server/request/engine_call.h"

#include <algorithm>
#include <utility>

namespace affine {

EngineCall::Plan EngineCall::PlanOf(const ValidatedRequest& validated) {
  const Request& request = validated.request;
  return {request.id,
          request.prompt,
          request.stop_token_ids,
          validated.wants_logprobs,
          validated.echo_text,
          validated.stop,
          validated.include_stop_str_in_output,
          request.sampling.min_tokens,
          validated.skip_special_tokens,
          validated.stability_heads};
}

EngineCall::EngineCall(std::shared_ptr<const Plan> plan, const ServedModel& model,
                       std::shared_ptr<TokenQueue> queue, RequestHandle handle)
    : plan_(std::move(plan)),
      model_(model),
      queue_(std::move(queue)),
      handle_(handle),
      assembler_(*model.tokenizer, {plan_->stop, plan_->include_stop, plan_->min_tokens},
                 plan_->skip_special_tokens) {}

EngineCall::~EngineCall() {
  queue_->Close();
  if (!ended_) {
    Cancel({ErrorCause::kCancelled, "the caller went away before the answer had ended", ""});
  }
}

void EngineCall::Cancel(RequestError why) { model_.engine->Cancel(handle_, std::move(why)); }

std::optional<CompletionChunk> EngineCall::Next() {
  if (ended_) return std::nullopt;
  CompletionChunk chunk;
  for (TokenEvent& event : queue_->Drain()) Take(std::move(event), chunk);
  chunk.text = assembler_.Take();
  if (chunk.text.empty() && chunk.token_ids.empty() && chunk.prompt_logprobs.empty() &&
      !chunk.end) {
    return std::nullopt;
  }
  if (!started_) chunk.text.insert(0, plan_->echo_text);
  started_ = true;
  return chunk;
}

void EngineCall::Take(TokenEvent event, CompletionChunk& chunk) {
  if (!event.prompt.empty()) chunk.prompt_logprobs = std::move(event.prompt);
  if (event.first_token) chunk.first_token = event.first_token;
  for (ScoredToken& token : event.tokens) {
    if (!stopped_) TakeToken(std::move(token), chunk);
  }
  if (event.finish) chunk.end = EndOf(*std::move(event.finish));
}

void EngineCall::TakeToken(ScoredToken token, CompletionChunk& chunk) {
  const int32_t id = token.id;
  ++delivered_;
  sum_log_prob_ += token.log_prob;
  chunk.token_ids.push_back(id);
  if (plan_->wants_logprobs) chunk.logprobs.push_back(std::move(token));
  const std::vector<int32_t>& stops = plan_->stop_token_ids;
  // A stop token counts as output, but its text is not part of the answer unless asked for.
  if (!plan_->include_stop && std::binary_search(stops.begin(), stops.end(), id)) return;
  if (!assembler_.Add(id)) return;
  stopped_ = true;
  model_.engine->Cancel(handle_, std::nullopt);
}

CompletionEnd EngineCall::EndOf(RequestFinish finish) {
  ended_ = true;
  CompletionEnd end;
  end.usage = {static_cast<int32_t>(plan_->prompt.size()), finish.cached_tokens, delivered_};
  // After a stop string any end is a stop: the engine's own may have come just before.
  const bool error = finish.reason == FinishReason::kError && !stopped_;
  if (error) {
    end.reason = FinishReason::kError;
    end.error = std::move(finish.error);
    return end;
  }
  if (assembler_.Finish()) stopped_ = true;
  end.reason = stopped_ ? FinishReason::kStop : finish.reason;
  if (finish.stability) end.stability = SummaryOf(*finish.stability);
  return end;
}

std::shared_ptr<const StabilitySummary> EngineCall::SummaryOf(
    std::span<const HeadStability> heads) const {
  const ModelInfo& info = model_.engine->info();
  const bool affine = info.attention.affine.has_value();
  auto summary = std::make_shared<StabilitySummary>(Summarize(heads, info.num_heads, affine));
  if (plan_->stability_heads) summary->heads = MatricesOf(heads, info.num_heads, affine);
  return summary;
}

}  // namespace affine
