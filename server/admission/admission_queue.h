// The one way from front-end threads to the engine's thread: a bounded inbox.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "server/admission/start_rate.h"
#include "server/request/clock.h"
#include "server/request/request.h"
#include "server/request/request_error.h"

namespace affine {

struct Submission {
  uint64_t handle = 0;
  Request request;
};

struct Cancellation {
  uint64_t handle = 0;
  std::optional<RequestError> error;  // none: the caller has all it wants
};

/// Everything that came since the last look. Submissions are older than their cancellations.
struct Inbox {
  std::vector<Submission> submissions;
  std::vector<Cancellation> cancellations;
  std::optional<RequestError> stop;  // all requests end with it, and no more come
};

/// Thread-safe. A request is queued from its acceptance until it runs, so a preempted one is
/// queued again; it is alive from its acceptance until its sink has had the finish.
class AdmissionQueue {
 public:
  /// `max_num_queued_reqs`: most queued requests for another to be accepted, at least 1, else
  /// std::invalid_argument. `clock` outlives the queue.
  AdmissionQueue(int32_t max_num_queued_reqs, const Clock& clock);

  // For any thread.

  /// Takes all of `requests`, one at least, or none: the handle of the first, above all earlier
  /// ones, those of the others following it one by one; or kFull with a retry hint, kBadInput if
  /// they are more than an empty queue holds, or what Close or Stop said.
  std::variant<uint64_t, RequestError> Submit(std::vector<Request> requests);
  void Cancel(uint64_t handle, std::optional<RequestError> error);
  /// Refuses new requests with `refusal` from now on. The first refusal stays.
  void Close(RequestError refusal);
  /// Close, and puts `error` into the inbox.
  void Stop(RequestError error);
  /// Waits until no request is alive; false if that took until `deadline` of the steady clock.
  bool WaitIdle(Clock::Time deadline) const;
  int32_t num_queued() const;

  // For the engine's thread.

  /// Replaces `inbox` by what has come. What is taken counts as queued until SetWaiting.
  void Take(Inbox* inbox);
  /// Returns once there is something to take.
  void WaitForWork() const;
  /// Of the requests taken so far, `waiting` do not run now; `started` have just begun to.
  void SetWaiting(int32_t waiting, int32_t started);
  /// The sinks of `count` requests have had their finish.
  void NoteEnded(int32_t count);

 private:
  bool HasWork() const {
    return !inbox_.submissions.empty() || !inbox_.cancellations.empty() || inbox_.stop.has_value();
  }
  std::optional<RequestError> WhyNoRoom(int32_t count) const;
  int32_t NumQueued() const { return waiting_ + static_cast<int32_t>(inbox_.submissions.size()); }

  const int32_t max_num_queued_reqs_;
  const Clock& clock_;
  mutable std::mutex mutex_;  // guards all below
  mutable std::condition_variable work_;
  mutable std::condition_variable idle_;
  Inbox inbox_;
  std::optional<RequestError> refusal_;
  StartRate start_rate_;
  uint64_t last_handle_ = 0;
  int32_t waiting_ = 0;  // taken from the inbox, not running
  int32_t alive_ = 0;
};

}  // namespace affine
