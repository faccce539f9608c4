#include "server/api/http/completion_writer.h"

#include <algorithm>
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

ChoiceShape ShapeOf(const CompletionBody& body, const CompletionCall& call) {
  return {.chat = body.chat,
          .return_token_ids = body.return_token_ids,
          .prompt_logprobs = body.params.prompt_logprobs.has_value(),
          .logprobs = body.params.logprobs.has_value(),
          .echo = body.params.echo,
          .top = body.params.logprobs.value_or(0),
          .skip_special_tokens = body.params.skip_special_tokens,
          .stability_inside = call.num_answers() > 1};
}

}  // namespace

std::string ServerSentEvent(const std::string& json) { return "data: " + json + "\n\n"; }

CompletionWriter::CompletionWriter(const CompletionBody& body, const CompletionCall& call,
                                   int64_t created)
    : call_(call),
      chat_(body.chat),
      stream_(body.stream),
      include_usage_(body.include_usage),
      continuous_usage_(body.continuous_usage),
      created_(created) {
  const ChoiceShape shape = ShapeOf(body, call);
  choices_.reserve(call.num_answers());
  for (int32_t i = 0; i < call.num_answers(); ++i) choices_.emplace_back(shape, call, i);
}

void CompletionWriter::Add(CompletionChunk chunk) {
  if (chunk.total) total_ = chunk.total;
  if (chunk.end && chunk.end->error) error_ = chunk.end->error;
  const int32_t answer = chunk.answer;
  if (std::ranges::find(touched_, answer) == touched_.end()) touched_.push_back(answer);
  choices_[answer].Add(std::move(chunk));
}

ordered_json CompletionWriter::Frame() const {
  ordered_json frame;
  frame["id"] = (chat_ ? "chatcmpl-" : "cmpl-") + call_.request_id();
  const char* chat_object = stream_ ? "chat.completion.chunk" : "chat.completion";
  frame["object"] = chat_ ? chat_object : "text_completion";
  frame["created"] = created_;
  frame["model"] = call_.model_name();
  return frame;
}

void CompletionWriter::AddStability(ordered_json& frame) const {
  const std::optional<CompletionEnd>& end = choices_.front().end();
  if (choices_.size() == 1 && end && end->stability) {
    frame["stability"] = SummaryJson(*end->stability);
  }
}

// `piece_of`: null for what is no piece of an answer.
std::string CompletionWriter::Event(ordered_json choice, const CompletionChoice* piece_of) const {
  ordered_json frame = Frame();
  frame["choices"] = ordered_json::array({std::move(choice)});
  if (piece_of != nullptr) {
    if (continuous_usage_) frame["usage"] = piece_of->UsageSoFar();
    AddStability(frame);
  }
  return ServerSentEvent(JsonText(frame));
}

std::string CompletionWriter::TakeEvents() {
  std::string events;
  for (const int32_t answer : std::exchange(touched_, {})) {
    CompletionChoice& choice = choices_[answer];
    if (!choice.HasNews()) continue;
    if (choice.OwesRole()) events += Event(choice.TakeRole(), nullptr);
    events += Event(choice.TakePiece(), &choice);
  }
  if (!total_) return events;
  if (error_) events += ServerSentEvent(OpenAiErrorBody(*error_));
  if (include_usage_ && !error_) {
    ordered_json frame = Frame();
    frame["choices"] = ordered_json::array();
    frame["usage"] = UsageJson(*total_);
    events += ServerSentEvent(JsonText(frame));
  }
  return events + ServerSentEvent("[DONE]");
}

std::string CompletionWriter::Whole() {
  ordered_json answer = Frame();
  ordered_json& choices = answer["choices"] = ordered_json::array();
  for (CompletionChoice& choice : choices_) choices.push_back(choice.TakeWhole());
  answer["usage"] = UsageJson(*total_);
  AddStability(answer);
  return JsonText(answer);
}

}  // namespace affine
