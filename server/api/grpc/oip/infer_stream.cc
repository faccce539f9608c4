#include "server/api/grpc/oip/infer_stream.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "server/api/grpc/message_parser.h"

namespace affine {

/// One request: a completion that runs, or why there is none.
struct InferStream::Work {
  Work(CallCounter& calls, Clock::Time arrived) : counter(calls), arrival(arrived) {
    counter.Enter();
  }
  ~Work() { counter.Leave(); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  CallCounter& counter;
  const Clock::Time arrival;
  InferAnswer answer;
  std::shared_ptr<CompletionCall> call;
  std::optional<RequestError> refusal;  // instead of a call
  bool ready = false;                   // in ready_
  bool answered = false;                // its last response is in flight
};

InferStream::InferStream(const ServiceParts& parts, InferCounts& counts,
                         grpc::CallbackServerContext* context)
    : parts_(parts), counts_(counts), strand_(parts.executor), header_(context) {}

InferStream::~InferStream() = default;

void InferStream::Begin() {
  self_ = shared_from_this();
  Post([](InferStream& stream) { stream.Start(); });
}

void InferStream::OnReadDone(bool ok) {
  Post([ok, now = parts_.intake.Now()](InferStream& stream) { stream.OnRead(ok, now); });
}

void InferStream::OnWriteDone(bool ok) {
  Post([ok](InferStream& stream) { stream.OnWritten(ok); });
}

void InferStream::OnCancel() {
  Post([](InferStream& stream) { stream.OnInterrupt(); });
}

void InferStream::Post(std::function<void(InferStream&)> work) {
  boost::asio::post(strand_, [self = shared_from_this(), work = std::move(work)] { work(*self); });
}

void InferStream::Start() {
  if (ended_) return;  // cancelled before it began
  if (auto error = parts_.intake.CheckKey(header_)) {
    End(header_.StatusOf(parts_.intake.Refuse("", *std::move(error))));
    return;
  }
  ReadMore();
}

void InferStream::ReadMore() {
  if (ended_ || ends_with_ || reading_ || half_closed_ || works_.size() >= kMostUnanswered) return;
  reading_ = true;
  StartRead(&request_);
}

void InferStream::OnRead(bool ok, Clock::Time arrival) {
  reading_ = false;
  if (ended_ || ends_with_) return;
  if (ok) {
    StartRequest(arrival);
    ReadMore();
    Pump();
  } else {
    half_closed_ = true;
    EndIfDone();
  }
}

void InferStream::StartRequest(Clock::Time arrival) {
  const RequestNumber number = ++last_number_;
  auto work = std::make_unique<Work>(parts_.counter, arrival);
  InferForm form;
  const auto read = [&](CompletionParams& params) -> std::optional<RequestError> {
    inference::ModelInferRequest message;
    if (auto error = ParseMessage(request_, message)) return error;
    return ReadInferRequest(message, form, params);
  };
  auto on_ready = [weak = weak_from_this(), number] {
    if (auto self = weak.lock()) {
      self->Post([number](InferStream& stream) { stream.OnReady(number); });
    }
  };
  auto started = parts_.intake.StartOneOfMany(header_, read, arrival, std::move(on_ready));
  work->answer = InferAnswer(std::move(form), /*whole=*/false);
  if (auto* error = std::get_if<RequestError>(&started)) {
    work->refusal = std::move(*error);
    work->ready = true;
    ready_.push_back(number);
  } else {
    work->call = std::get<std::shared_ptr<CompletionCall>>(std::move(started));
  }
  works_.emplace(number, std::move(work));
}

void InferStream::OnReady(RequestNumber number) {
  const auto found = works_.find(number);
  if (found == works_.end() || std::exchange(found->second->ready, true)) return;
  ready_.push_back(number);
  Pump();
}

void InferStream::Pump() {
  while (!ended_ && !ends_with_ && !writing_ && !ready_.empty()) {
    const RequestNumber number = ready_.front();
    ready_.pop_front();
    const auto found = works_.find(number);
    if (found == works_.end()) continue;
    Work& work = *found->second;
    work.ready = false;
    auto response = NextResponse(work);
    if (!response) continue;
    if (!work.answered) {  // there may be more already: its next turn
      work.ready = true;
      ready_.push_back(number);
    }
    response_ = *std::move(response);
    writing_ = number;
    StartWrite(&response_);
  }
}

std::optional<grpc::ByteBuffer> InferStream::NextResponse(Work& work) {
  if (work.answered) return std::nullopt;
  if (work.refusal) {
    work.answered = true;
    return BytesOf(FailedResponse(work.answer.form(), work.refusal->message));
  }
  while (std::optional<CompletionChunk> chunk = work.call->Next()) {
    NoteFirstToken(work, *chunk);
    const std::optional<CompletionEnd> end = chunk->end;
    work.answer.Gather(*std::move(chunk));
    if (!end && !work.answer.in_pieces()) continue;
    work.answered = end.has_value();
    if (end) {
      const Clock::Duration took = parts_.intake.Now() - work.arrival;
      counts_.Count(work.call->model_name(), !end->error, took);
    }
    if (end && end->error) {
      return BytesOf(FailedResponse(work.answer.form(), end->error->message));
    }
    inference::ModelStreamInferResponse response;
    *response.mutable_infer_response() = work.answer.Take(*work.call);
    SetFinal(work.answered, *response.mutable_infer_response());
    return BytesOf(response);
  }
  return std::nullopt;
}

void InferStream::NoteFirstToken(Work& work, const CompletionChunk& chunk) {
  if (!chunk.first_token) return;
  const Clock::Time when = work.answer.in_pieces() ? parts_.intake.Now() : *chunk.first_token;
  if (work.answer.in_pieces()) work.call->NoteFirstWrite(when);
  parts_.intake.observer().OnFirstToken(work.call->model_name(), when - work.arrival);
}

void InferStream::OnWritten(bool ok) {
  if (ended_) return;
  const RequestNumber number = *std::exchange(writing_, std::nullopt);
  if (ends_with_) {
    End(*std::exchange(ends_with_, std::nullopt));
    return;
  }
  if (!ok) return;  // OnCancel follows
  const auto found = works_.find(number);
  if (found != works_.end() && found->second->answered) works_.erase(found);
  ReadMore();
  Pump();
  EndIfDone();
}

void InferStream::EndIfDone() {
  if (!ended_ && !ends_with_ && half_closed_ && works_.empty()) End(grpc::Status::OK);
}

void InferStream::OnInterrupt() {
  if (ended_ || ends_with_) return;
  const RequestError why =
      header_.deadline_reached()
          ? RequestError{ErrorCause::kDeadline, "the RPC's deadline passed", ""}
          : RequestError{ErrorCause::kCancelled, "the caller cancelled or went away", ""};
  for (auto& [number, work] : works_) {
    if (!work->call || work->answered) continue;
    work->call->Cancel(why);
    counts_.Count(work->call->model_name(), false, parts_.intake.Now() - work->arrival);
  }
  works_.clear();
  grpc::Status status = header_.StatusOf(why);
  if (writing_) {
    ends_with_ = std::move(status);
  } else {
    End(std::move(status));
  }
}

void InferStream::End(grpc::Status status) {
  ended_ = true;
  works_.clear();
  Finish(std::move(status));
}

}  // namespace affine
