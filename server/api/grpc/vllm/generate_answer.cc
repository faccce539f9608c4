#include "server/api/grpc/vllm/generate_answer.h"

#include <algorithm>
#include <utility>

namespace affine {

namespace {

namespace wire = ::vllm::grpc::engine;

void AddTop(const ScoredToken& token, wire::TopLogProbs& message) {
  for (const auto& [id, log_prob] : token.top) {
    message.add_token_ids(id);
    message.add_values(log_prob);
  }
}

void AddOutput(const std::vector<ScoredToken>& tokens, bool with_top,
               wire::OutputLogProbs& message) {
  for (const ScoredToken& token : tokens) {
    message.add_token_ids(token.id);
    message.add_token_logprobs(token.log_prob);
    if (with_top) AddTop(token, *message.add_top_logprobs());
  }
}

/// `tokens` are the prompt's from its second on.
void AddInput(const std::vector<ScoredToken>& tokens, int32_t first, bool with_top,
              wire::InputLogProbs& message) {
  message.add_token_ids(first);
  message.add_token_logprobs();
  if (with_top) message.add_top_logprobs();
  for (const ScoredToken& token : tokens) {
    message.add_token_ids(token.id);
    message.add_token_logprobs()->set_value(token.log_prob);
    if (with_top) AddTop(token, *message.add_top_logprobs());
  }
}

const char* NameOf(const CompletionEnd& end) {
  switch (end.reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kUnstable:
      return "unstable";
    case FinishReason::kError:
      break;
  }
  return "abort";
}

/// The string of `stops` that ends first in `text`, of several the longest; null if there is none.
const std::string* FirstCompleted(const std::string& text, const std::vector<std::string>& stops) {
  const std::string* first = nullptr;
  size_t first_end = std::string::npos;
  for (const std::string& stop : stops) {
    const size_t at = text.find(stop);
    if (at == std::string::npos) continue;
    const size_t end = at + stop.size();
    if (end < first_end || (end == first_end && stop.size() > first->size())) {
      first = &stop;
      first_end = end;
    }
  }
  return first;
}

}  // namespace

GenerateAnswer::GenerateAnswer(const wire::GenerateRequest& request)
    : stream_(request.stream()),
      top_(request.sampling_params().logprobs()),
      prompt_top_(request.sampling_params().prompt_logprobs()),
      stop_(request.sampling_params().stop().begin(), request.sampling_params().stop().end()),
      stop_token_ids_(request.sampling_params().stop_token_ids().begin(),
                      request.sampling_params().stop_token_ids().end()),
      skip_special_tokens_(request.sampling_params().skip_special_tokens()) {}

wire::GenerateResponse GenerateAnswer::Take(const CompletionChunk& chunk,
                                            const CompletionCall& call) {
  complete_.mutable_output_ids()->Add(chunk.token_ids.begin(), chunk.token_ids.end());
  wire::GenerateResponse response;
  const int32_t first_id = call.prompt_token_ids().front();
  const bool has_input = std::exchange(first_, false) && !chunk.prompt_logprobs.empty();
  if (!stream_) {
    if (!chunk.logprobs.empty()) {
      AddOutput(chunk.logprobs, top_ > 0, *complete_.mutable_output_logprobs());
    }
    if (has_input) {
      AddInput(chunk.prompt_logprobs, first_id, prompt_top_ > 0,
               *complete_.mutable_input_logprobs());
    }
    return response;
  }
  wire::GenerateStreamChunk& message = *response.mutable_chunk();
  message.mutable_token_ids()->Add(chunk.token_ids.begin(), chunk.token_ids.end());
  message.set_prompt_tokens(call.prompt_token_ids().size());
  message.set_completion_tokens(chunk.token_ids.size());
  if (!chunk.logprobs.empty()) {
    AddOutput(chunk.logprobs, top_ > 0, *message.mutable_output_logprobs());
  }
  if (has_input) {
    AddInput(chunk.prompt_logprobs, first_id, prompt_top_ > 0, *message.mutable_input_logprobs());
  }
  return response;
}

wire::GenerateResponse GenerateAnswer::Complete(const CompletionEnd& end,
                                                const CompletionCall& call) {
  wire::GenerateResponse response;
  wire::GenerateComplete& message = *response.mutable_complete();
  message = std::move(complete_);
  message.set_finish_reason(NameOf(end));
  message.set_prompt_tokens(end.usage.prompt_tokens);
  message.set_completion_tokens(end.usage.output_tokens);
  message.set_cached_tokens(end.usage.cached_tokens);
  if (end.reason == FinishReason::kStop) SetMatchedStop(call, message);
  return response;
}

void GenerateAnswer::SetMatchedStop(const CompletionCall& call, Complete_& complete) const {
  const auto& output = complete.output_ids();
  if (output.empty()) return;
  const auto last = static_cast<int32_t>(*output.rbegin());
  if (std::count(stop_token_ids_.begin(), stop_token_ids_.end(), last) > 0) {
    complete.set_matched_token_id(last);
    return;
  }
  if (stop_.empty()) return;
  const std::vector<int32_t> ids(output.begin(), output.end());
  const std::string text = call.tokenizer().Decode(ids, skip_special_tokens_);
  if (const std::string* stop = FirstCompleted(text, stop_)) complete.set_matched_stop_str(*stop);
}

}  // namespace affine
