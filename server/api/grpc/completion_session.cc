#include "server/api/grpc/completion_session.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace affine {

CompletionSession::CompletionSession(const ServiceParts& parts,
                                     grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request)
    : parts_(parts),
      strand_(parts.executor),
      arrival_(parts.intake.Now()),
      request_(request),
      header_(context) {}

void CompletionSession::Begin() {
  parts_.counter.Enter();
  self_ = shared_from_this();
  Post([](CompletionSession& session) { session.Start(); });
}

void CompletionSession::Interrupt() {
  Post([](CompletionSession& session) { session.OnInterrupt(); });
}

void CompletionSession::Delivered(bool ok) {
  Post([ok](CompletionSession& session) { session.OnDelivered(ok); });
}

void CompletionSession::Release() {
  parts_.counter.Leave();
  self_.reset();
}

void CompletionSession::NoteFirstWrite() {
  const Clock::Time now = parts_.intake.Now();
  if (call_) call_->NoteFirstWrite(now);  // else the request has ended, and its line is written
  NoteFirstToken(now);
}

void CompletionSession::NoteFirstToken(Clock::Time when) {
  parts_.intake.observer().OnFirstToken(model_name_, when - arrival_);
}

void CompletionSession::Post(std::function<void(CompletionSession&)> work) {
  boost::asio::post(strand_, [self = shared_from_this(), work = std::move(work)] { work(*self); });
}

void CompletionSession::Start() {
  if (ended_) return;  // cancelled before it began
  auto on_ready = [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->Post([](CompletionSession& session) { session.Pump(); });
  };
  const auto read = [this](CompletionParams& params) { return ReadParams(*request_, params); };
  auto started = parts_.intake.Start(header_, read, arrival_, std::move(on_ready));
  if (auto* error = std::get_if<RequestError>(&started)) {
    End(header_.StatusOf(*error));
    return;
  }
  call_ = std::get<std::shared_ptr<CompletionCall>>(std::move(started));
  model_name_ = call_->model_name();
  Started(call_);
}

void CompletionSession::Pump() {
  while (!ended_ && !broken_ && !delivering_ && !ends_with_ && call_) {
    const std::optional<CompletionChunk> chunk = call_->Next();
    if (!chunk) return;
    if (!chunk->total) {
      delivering_ = !Deliver(*chunk, *call_);
      continue;
    }
    ended_ = true;
    const std::shared_ptr<CompletionCall> call = std::move(call_);
    const std::optional<RequestError>& error = chunk->end->error;
    if (chunk->end->refused) parts_.intake.observer().OnRefused(call->request_id(), *error);
    Conclude(&*chunk, call.get(), error ? header_.StatusOf(*error) : grpc::Status::OK);
  }
}

void CompletionSession::OnDelivered(bool ok) {
  delivering_ = false;
  broken_ = broken_ || !ok;
  if (ends_with_) {
    End(*std::exchange(ends_with_, std::nullopt));
  } else {
    Pump();
  }
}

void CompletionSession::OnInterrupt() {
  if (ended_ || ends_with_) return;
  const RequestError why =
      header_.deadline_reached()
          ? RequestError{ErrorCause::kDeadline, "the RPC's deadline passed", ""}
          : RequestError{ErrorCause::kCancelled, "the caller cancelled or went away", ""};
  if (call_) call_->Cancel(why);
  call_.reset();
  grpc::Status status = header_.StatusOf(why);
  if (delivering_) {
    ends_with_ = std::move(status);
  } else {
    End(std::move(status));
  }
}

void CompletionSession::End(grpc::Status status) {
  ended_ = true;
  Conclude(nullptr, nullptr, std::move(status));
}

}  // namespace affine
