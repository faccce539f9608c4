#include "server/api/http/completion_writer.h"

#include <utility>

#include "server/api/http/json_text.h"
#include "server/api/http/openai_error.h"
#include "server/api/http/stability_json.h"

namespace affine {

using nlohmann::ordered_json;

namespace {

ordered_json UsageJson(const CompletionUsage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.output_tokens},
          {"total_tokens", usage.prompt_tokens + usage.output_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
}

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

std::string ServerSentEvent(const std::string& json) { return "data: " + json + "\n\n"; }

CompletionWriter::CompletionWriter(const CompletionBody& body, const CompletionCall& call,
                                   int64_t created)
    : call_(call),
      include_usage_(body.include_usage),
      return_token_ids_(body.return_token_ids),
      wants_prompt_logprobs_(body.params.prompt_logprobs.has_value()),
      wants_logprobs_(body.params.logprobs.has_value()),
      echo_(body.params.echo),
      created_(created),
      logprobs_(call.tokenizer(), body.params.skip_special_tokens,
                body.params.logprobs.value_or(0)) {}

void CompletionWriter::Add(CompletionChunk chunk) {
  if (!std::exchange(started_, true) && echo_ && wants_logprobs_) {
    logprobs_.AddUnscored(call_.prompt_token_ids().front());
    for (const ScoredToken& token : chunk.prompt_logprobs) logprobs_.Add(token);
  }
  if (wants_prompt_logprobs_) {
    prompt_logprobs_.insert(prompt_logprobs_.end(), chunk.prompt_logprobs.begin(),
                            chunk.prompt_logprobs.end());
  }
  text_ += chunk.text;
  if (return_token_ids_) {
    token_ids_.insert(token_ids_.end(), chunk.token_ids.begin(), chunk.token_ids.end());
  }
  if (wants_logprobs_) {
    for (const ScoredToken& token : chunk.logprobs) logprobs_.Add(token);
  }
  if (chunk.end) end_ = std::move(chunk.end);
}

ordered_json CompletionWriter::Frame() const {
  ordered_json frame;
  frame["id"] = "cmpl-" + call_.request_id();
  frame["object"] = "text_completion";
  frame["created"] = created_;
  frame["model"] = call_.model_name();
  return frame;
}

ordered_json CompletionWriter::TakeChoice() {
  const bool first = !std::exchange(first_taken_, true);
  ordered_json choice;
  choice["index"] = 0;
  choice["text"] = std::exchange(text_, {});
  choice["logprobs"] = wants_logprobs_ ? logprobs_.Take() : ordered_json();
  choice["finish_reason"] = end_ ? ordered_json(ReasonText(end_->reason)) : ordered_json();
  if (return_token_ids_) {
    choice["token_ids"] = std::exchange(token_ids_, {});
    if (first) choice["prompt_token_ids"] = call_.prompt_token_ids();
  }
  if (first && wants_prompt_logprobs_) {
    choice["prompt_logprobs"] =
        PromptLogProbs(call_.tokenizer(), std::exchange(prompt_logprobs_, {}));
  }
  return choice;
}

void CompletionWriter::AddStability(ordered_json& frame) const {
  if (end_ && end_->stability) frame["stability"] = SummaryJson(*end_->stability);
}

std::string CompletionWriter::TakeEvents() {
  const bool failed = end_ && end_->reason == FinishReason::kError;
  std::string events;
  const bool news = !text_.empty() || !token_ids_.empty() || !logprobs_.empty() ||
                    !prompt_logprobs_.empty() || (end_ && !failed);
  if (news) {
    ordered_json frame = Frame();
    frame["choices"] = ordered_json::array({TakeChoice()});
    AddStability(frame);
    events += ServerSentEvent(JsonText(frame));
  }
  if (!end_) return events;
  if (failed) events += ServerSentEvent(OpenAiErrorBody(*end_->error));
  if (include_usage_ && !failed) {
    ordered_json frame = Frame();
    frame["choices"] = ordered_json::array();
    frame["usage"] = UsageJson(end_->usage);
    events += ServerSentEvent(JsonText(frame));
  }
  return events + ServerSentEvent("[DONE]");
}

std::string CompletionWriter::Whole() {
  ordered_json answer = Frame();
  answer["choices"] = ordered_json::array({TakeChoice()});
  answer["usage"] = UsageJson(end_->usage);
  AddStability(answer);
  return JsonText(answer);
}

}  // namespace affine
