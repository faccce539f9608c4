#include "server/api/http/completion_choice.h"

#include <iterator>
#include <utility>

#include "server/api/http/chat_logprobs.h"
#include "server/api/http/stability_json.h"

namespace affine {

using nlohmann::ordered_json;

namespace {

const char* ReasonText(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kUnstable:
      return "unstable";
    case FinishReason::kError:
      break;
  }
  return "error";
}

}  // namespace

CompletionChoice::CompletionChoice(const ChoiceShape& shape, const CompletionCall& call,
                                   int32_t index)
    : shape_(shape),
      call_(call),
      index_(index),
      logprobs_(call.tokenizer(), shape.skip_special_tokens, shape.top) {}

void CompletionChoice::Add(CompletionChunk chunk) {
  if (!std::exchange(started_, true) && shape_.echo && shape_.logprobs) {
    logprobs_.AddUnscored(call_.prompt_of(index_).front());
    for (const ScoredToken& token : chunk.prompt_logprobs) logprobs_.Add(token);
  }
  if (shape_.prompt_logprobs) {
    prompt_logprobs_.insert(prompt_logprobs_.end(), chunk.prompt_logprobs.begin(),
                            chunk.prompt_logprobs.end());
  }
  text_ += chunk.text;
  output_tokens_ += static_cast<int32_t>(chunk.token_ids.size());
  if (shape_.return_token_ids) {
    token_ids_.insert(token_ids_.end(), chunk.token_ids.begin(), chunk.token_ids.end());
  }
  if (shape_.chat) {
    std::move(chunk.logprobs.begin(), chunk.logprobs.end(), std::back_inserter(chat_logprobs_));
  } else if (shape_.logprobs) {
    for (const ScoredToken& token : chunk.logprobs) logprobs_.Add(token);
  }
  if (chunk.end) end_ = std::move(chunk.end);
}

bool CompletionChoice::HasNews() const {
  const bool ends = end_ && end_->reason != FinishReason::kError && !end_taken_;
  return ends || !text_.empty() || !token_ids_.empty() || !logprobs_.empty() ||
         !chat_logprobs_.empty() || !prompt_logprobs_.empty();
}

ordered_json CompletionChoice::TakeRole() {
  role_taken_ = true;
  return {{"index", index_},
          {"delta", {{"role", "assistant"}, {"content", ""}}},
          {"logprobs", nullptr},
          {"finish_reason", nullptr}};
}

ordered_json CompletionChoice::TakePiece() {
  ordered_json choice{{"index", index_}};
  if (!shape_.chat) {
    choice["text"] = TakeText();
  } else {
    ordered_json& delta = choice["delta"] = ordered_json::object();
    if (!text_.empty()) delta["content"] = TakeText();
  }
  AddRest(choice);
  return choice;
}

ordered_json CompletionChoice::TakeWhole() {
  ordered_json choice{{"index", index_}};
  if (shape_.chat) {
    choice["message"] = {{"role", "assistant"}, {"content", TakeText()}, {"refusal", nullptr}};
  } else {
    choice["text"] = TakeText();
  }
  AddRest(choice);
  return choice;
}

ordered_json CompletionChoice::TakeText() { return std::exchange(text_, {}); }

ordered_json CompletionChoice::TakeLogProbs() {
  if (!shape_.logprobs) return {};
  if (!shape_.chat) return logprobs_.Take();
  return ChatLogProbs(call_.tokenizer(), std::exchange(chat_logprobs_, {}), shape_.top);
}

void CompletionChoice::AddRest(ordered_json& choice) {
  const bool first = !std::exchange(taken_, true);
  choice["logprobs"] = TakeLogProbs();
  choice["finish_reason"] = end_ ? ordered_json(ReasonText(end_->reason)) : ordered_json();
  if (shape_.return_token_ids) {
    choice["token_ids"] = std::exchange(token_ids_, {});
    if (first) choice["prompt_token_ids"] = call_.prompt_of(index_);
  }
  if (first && shape_.prompt_logprobs) {
    choice["prompt_logprobs"] =
        PromptLogProbs(call_.tokenizer(), std::exchange(prompt_logprobs_, {}));
  }
  if (end_) {
    end_taken_ = true;
    if (shape_.stability_inside && end_->stability) {
      choice["stability"] = SummaryJson(*end_->stability);
    }
  }
}

ordered_json CompletionChoice::UsageSoFar() const {
  const auto prompt = static_cast<int32_t>(call_.prompt_of(index_).size());
  return {{"prompt_tokens", prompt},
          {"completion_tokens", output_tokens_},
          {"total_tokens", prompt + output_tokens_}};
}

}  // namespace affine
