#include "server/request/grammar_wait.h"

#include <exception>
#include <utility>

namespace affine {

void GrammarWait::Mailbox::Put(GrammarResult given) {
  const std::lock_guard lock(mutex);
  if (result || !on_ready) return;
  result = std::move(given);
  on_ready();
}

GrammarWait::GrammarWait(const ServedModel& model, Validated validated, Submit submit,
                         std::function<void()> on_ready)
    : model_(model),
      request_id_(validated.front().request.id),
      answers_of_prompt_(validated.front().num_answers),
      validated_(std::move(validated)),
      submit_(std::move(submit)),
      mailbox_(std::make_shared<Mailbox>()) {
  for (const ValidatedRequest& one : validated_) prompts_.push_back(one.request.prompt);
  mailbox_->on_ready = std::move(on_ready);
}

GrammarWait::~GrammarWait() {
  const std::lock_guard lock(mailbox_->mutex);
  mailbox_->on_ready = nullptr;
}

std::function<void(GrammarResult)> GrammarWait::Receiver() const {
  return [mailbox = mailbox_](GrammarResult result) { mailbox->Put(std::move(result)); };
}

std::optional<CompletionChunk> GrammarWait::Next() {
  if (ended_) return std::nullopt;
  if (call_) return call_->Next();
  std::optional<GrammarResult> result;
  {
    const std::lock_guard lock(mailbox_->mutex);
    result = mailbox_->result;
  }
  if (!result) return std::nullopt;
  return Begin(*std::move(result));
}

std::optional<CompletionChunk> GrammarWait::Begin(GrammarResult result) {
  if (auto* error = std::get_if<RequestError>(&result)) return Refused(std::move(*error));
  auto& grammar = std::get<std::shared_ptr<const OutputGrammar>>(result);
  try {
    const std::lock_guard lock(call_mutex_);
    Started started = submit_(std::move(validated_), std::move(grammar));
    if (auto* error = std::get_if<RequestError>(&started)) return Refused(std::move(*error));
    call_ = std::get<std::shared_ptr<CompletionCall>>(std::move(started));
  } catch (const std::exception& fault) {  // on one of the edge's threads, which serve all calls
    return Refused(FaultOf(fault));
  }
  return call_->Next();
}

CompletionChunk GrammarWait::Refused(RequestError error) {
  ended_ = true;
  error.model_name = model_.name;
  CompletionChunk chunk;
  chunk.end.emplace();
  chunk.end->reason = FinishReason::kError;
  chunk.end->error = std::move(error);
  chunk.end->refused = true;
  chunk.total.emplace();
  return chunk;
}

// A call that waits is told so by its mailbox: what was compiled meanwhile is for others.
void GrammarWait::Cancel(RequestError why) {
  const std::lock_guard lock(call_mutex_);
  if (call_) return call_->Cancel(std::move(why));
  mailbox_->Put(std::move(why));
}

void GrammarWait::NoteFirstWrite(Clock::Time when) {
  if (call_) call_->NoteFirstWrite(when);
}

int32_t GrammarWait::num_answers() const {
  return answers_of_prompt_ * static_cast<int32_t>(prompts_.size());
}

const std::vector<int32_t>& GrammarWait::prompt_of(int32_t answer) const {
  return prompts_[answer / answers_of_prompt_];
}

}  // namespace affine
