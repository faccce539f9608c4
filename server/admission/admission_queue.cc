#include "server/admission/admission_queue.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace affine {

AdmissionQueue::AdmissionQueue(int32_t max_num_queued_reqs, const Clock& clock)
    : max_num_queued_reqs_(max_num_queued_reqs), clock_(clock) {
  if (max_num_queued_reqs < 1) {
    throw std::invalid_argument("max_num_queued_reqs is " + std::to_string(max_num_queued_reqs) +
                                "; it must be at least 1, as every request passes the queue");
  }
}

std::variant<uint64_t, RequestError> AdmissionQueue::Submit(std::vector<Request> requests) {
  const auto count = static_cast<int32_t>(requests.size());
  uint64_t first = 0;
  {
    const std::lock_guard lock(mutex_);
    if (refusal_) return *refusal_;
    if (auto full = WhyNoRoom(count)) return *std::move(full);
    first = last_handle_ + 1;
    alive_ += count;
    for (Request& request : requests) {
      inbox_.submissions.push_back({++last_handle_, std::move(request)});
    }
  }
  work_.notify_one();
  return first;
}

std::optional<RequestError> AdmissionQueue::WhyNoRoom(int32_t count) const {
  const std::string limit = "max_num_queued_reqs is " + std::to_string(max_num_queued_reqs_);
  if (count > max_num_queued_reqs_) {
    return RequestError{.cause = ErrorCause::kBadInput,
                        .message = "the request asks for " + std::to_string(count) +
                                   " answers, each of which counts as one in the queue, and the "
                                   "server's " +
                                   limit + "; ask for fewer at once",
                        .param = "n"};
  }
  const int32_t queued = NumQueued();
  if (queued + count <= max_num_queued_reqs_) return std::nullopt;
  const int seconds = start_rate_.SecondsFor(queued, clock_.Now());
  const std::string these =
      count == 1 ? "" : ", this one has " + std::to_string(count) + " answers,";
  return RequestError{.cause = ErrorCause::kFull,
                      .message = std::to_string(queued) + " requests wait already" + these +
                                 " and " + limit + "; try again in " + std::to_string(seconds) +
                                 " s",
                      .param = {},
                      .retry_after_seconds = seconds};
}

void AdmissionQueue::Cancel(uint64_t handle, std::optional<RequestError> error) {
  {
    const std::lock_guard lock(mutex_);
    if (alive_ == 0) return;
    inbox_.cancellations.push_back({handle, std::move(error)});
  }
  work_.notify_one();
}

void AdmissionQueue::Close(RequestError refusal) {
  const std::lock_guard lock(mutex_);
  if (!refusal_) refusal_ = std::move(refusal);
}

void AdmissionQueue::Stop(RequestError error) {
  {
    const std::lock_guard lock(mutex_);
    if (!refusal_) refusal_ = error;
    inbox_.stop = std::move(error);
  }
  work_.notify_one();
}

bool AdmissionQueue::WaitIdle(Clock::Time deadline) const {
  std::unique_lock lock(mutex_);
  return idle_.wait_until(lock, deadline, [&] { return alive_ == 0; });
}

int32_t AdmissionQueue::num_queued() const {
  const std::lock_guard lock(mutex_);
  return NumQueued();
}

void AdmissionQueue::Take(Inbox* inbox) {
  inbox->submissions.clear();
  inbox->cancellations.clear();
  inbox->stop.reset();
  const std::lock_guard lock(mutex_);
  waiting_ += static_cast<int32_t>(inbox_.submissions.size());
  std::swap(*inbox, inbox_);
}

void AdmissionQueue::WaitForWork() const {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [&] { return HasWork(); });
}

void AdmissionQueue::SetWaiting(int32_t waiting, int32_t started) {
  const std::lock_guard lock(mutex_);
  waiting_ = waiting;
  if (started > 0) start_rate_.Note(started, clock_.Now());
}

void AdmissionQueue::NoteEnded(int32_t count) {
  const std::lock_guard lock(mutex_);
  alive_ -= count;
  if (alive_ == 0) idle_.notify_all();
}

}  // namespace affine
