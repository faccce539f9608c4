#include "server/api/http/completion_work.h"

#include <chrono>
#include <utility>

#include "server/api/http/openai_error.h"

namespace affine {

namespace {

int64_t UnixSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

RouteAnswer CompletionWork::Begin(CompletionBody body, const ServedModels& models,
                                  const Clock& clock, ApiObserver& observer,
                                  HttpResponder& responder) {
  std::shared_ptr<CompletionWork> work(new CompletionWork(clock, observer, responder));
  const auto on_ready = [weak = work->weak_from_this(), post = responder.poster()] {
    post([weak] {
      if (const auto self = weak.lock()) self->Advance();
    });
  };
  auto started = StartCompletion(body.params, models, on_ready);
  if (auto* error = std::get_if<RequestError>(&started)) return RouteRefusal{std::move(*error)};
  work->call_ = std::move(std::get<std::shared_ptr<CompletionCall>>(started));
  work->arrival_ = body.params.arrival;
  work->stream_ = body.stream;
  work->writer_.emplace(body, *work->call_, UnixSeconds());
  return std::shared_ptr<HttpWork>(std::move(work));
}

void CompletionWork::Advance() {
  while (!ended_ && !done_) {
    std::optional<CompletionChunk> chunk = call_->Next();
    if (!chunk) break;
    if (chunk->total) {
      ended_ = true;
      error_ = chunk->end->error;
      if (chunk->end->refused) observer_.OnRefused(call_->request_id(), *error_);
    }
    if (chunk->first_token) {
      owes_first_write_ = stream_;
      if (!stream_) observer_.OnFirstToken(call_->model_name(), *chunk->first_token - arrival_);
    }
    writer_->Add(*std::move(chunk));
  }
  if (done_) return;
  if (stream_) return AdvanceStream();
  if (ended_) Finish();
}

void CompletionWork::AdvanceStream() {
  if (writing_) return;
  if (ended_ && error_ && !streaming_) return Finish();
  std::string events = writer_->TakeEvents();
  if (events.empty()) return;
  writing_ = true;
  if (std::exchange(owes_first_write_, false)) NoteFirstWrite();
  if (streaming_) {
    responder_.Write(std::move(events));
  } else {
    streaming_ = true;
    HttpResponse head;
    head.content_type = "text/event-stream; charset=utf-8";
    head.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
    head.body = std::move(events);
    responder_.BeginStream(Identified(std::move(head)));
  }
  if (!ended_) return;
  done_ = true;
  responder_.EndStream();
}

void CompletionWork::NoteFirstWrite() {
  const Clock::Time now = clock_.Now();
  call_->NoteFirstWrite(now);
  observer_.OnFirstToken(call_->model_name(), now - arrival_);
}

void CompletionWork::Finish() {
  done_ = true;
  if (error_) return responder_.Respond(Identified(OpenAiErrorResponse(*error_)));
  HttpResponse response;
  response.body = writer_->Whole();
  responder_.Respond(Identified(std::move(response)));
}

HttpResponse CompletionWork::Identified(HttpResponse response) const {
  response.headers.emplace_back("x-request-id", call_->request_id());
  return response;
}

void CompletionWork::OnWritten() {
  writing_ = false;
  Advance();
}

void CompletionWork::OnDisconnect() {
  done_ = true;
  call_->Cancel({ErrorCause::kCancelled, "the client closed the connection", ""});
}

}  // namespace affine
