#include "tests/support/recording_sink.h"

namespace affine {

void RecordingSink::Push(TokenEvent event) {
  const std::lock_guard lock(mutex_);
  ++events_;
  if (finish_) ++events_after_finish_;
  if (!event.prompt.empty()) ++prompt_deliveries_;
  prompt_.insert(prompt_.end(), event.prompt.begin(), event.prompt.end());
  tokens_.insert(tokens_.end(), event.tokens.begin(), event.tokens.end());
  if (event.first_token) first_tokens_.push_back(*event.first_token);
  if (!event.finish) return;
  ++finishes_;
  finish_ = std::move(event.finish);
  finished_.notify_all();
}

std::optional<Clock::Time> RecordingSink::first_write() const {
  const std::lock_guard lock(mutex_);
  return first_write_;
}

void RecordingSink::NoteFirstWrite(Clock::Time when) {
  const std::lock_guard lock(mutex_);
  first_write_ = when;
}

std::vector<Clock::Time> RecordingSink::first_tokens() const {
  const std::lock_guard lock(mutex_);
  return first_tokens_;
}

RequestFinish RecordingSink::WaitFinish() const {
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return finish_.has_value(); });
  return *finish_;
}

std::vector<ScoredToken> RecordingSink::tokens() const {
  const std::lock_guard lock(mutex_);
  return tokens_;
}

std::vector<ScoredToken> RecordingSink::prompt() const {
  const std::lock_guard lock(mutex_);
  return prompt_;
}

std::optional<RequestFinish> RecordingSink::finish() const {
  const std::lock_guard lock(mutex_);
  return finish_;
}

int RecordingSink::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

int RecordingSink::prompt_deliveries() const {
  const std::lock_guard lock(mutex_);
  return prompt_deliveries_;
}

int RecordingSink::finishes() const {
  const std::lock_guard lock(mutex_);
  return finishes_;
}

int RecordingSink::events_after_finish() const {
  const std::lock_guard lock(mutex_);
  return events_after_finish_;
}

}  // namespace affine
