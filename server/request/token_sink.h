// Where the engine puts what it produced for one request.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/language_model.h"
#include "server/request/clock.h"
#include "server/request/request_error.h"

namespace affine {

enum class FinishReason {
  kStop,      // a stop token (an end-of-text id is one) or, set by the text side, a stop string
  kLength,    // max_tokens, or the model's length
  kUnstable,  // its attention passed a limit that ends requests
  kError,     // RequestFinish::error says which
};

/// Counts and times of a finished request, for the answer, the log line and the metrics.
struct RequestFinish {
  FinishReason reason = FinishReason::kStop;
  std::optional<RequestError> error;  // set exactly with kError
  std::optional<int32_t> stop_token;  // the id that ended it, with kStop
  int32_t prompt_tokens = 0;
  int32_t cached_tokens = 0;  // of the prompt, found in the cache on first admission
  int32_t output_tokens = 0;
  int32_t preemptions = 0;
  Clock::Time arrival;
  std::optional<Clock::Time> first_scheduled;  // unset: never left the queue
  std::optional<Clock::Time> first_token;
  std::optional<Clock::Time> first_write;  // TokenSink::first_write at the end
  Clock::Time finished;
  /// [layers, heads]: what the attention did at every position that was computed; null unless
  /// Request::stability asked for it.
  std::shared_ptr<const std::vector<HeadStability>> stability;
};

/// What one step produced for one request.
struct TokenEvent {
  std::vector<ScoredToken> prompt;  // with prompt log-probabilities, once: tokens 1.. of the prompt
  std::vector<ScoredToken> tokens;  // newly sampled, in order
  std::optional<Clock::Time> first_token;  // when it was there, in the event that brings it
  std::optional<RequestFinish> finish;     // in the last event, and only there
};

/// Implemented by the front end. Push is called on the engine's thread, in order, and must neither
/// block nor throw; after an event with `finish` it is not called again.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  virtual void Push(TokenEvent event) = 0;
  /// When the first token was handed to the caller's stream. None before that, and for an answer
  /// that is no stream. Thread-safe.
  virtual std::optional<Clock::Time> first_write() const { return std::nullopt; }
};

}  // namespace affine
