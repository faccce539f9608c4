// A sink that keeps all it was given.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "server/request/token_sink.h"

namespace affine {

/// Thread-safe.
class RecordingSink final : public TokenSink {
 public:
  void Push(TokenEvent event) override;
  std::optional<Clock::Time> first_write() const override;
  void NoteFirstWrite(Clock::Time when);
  /// Waits for the finish.
  RequestFinish WaitFinish() const;

  std::vector<ScoredToken> tokens() const;
  std::vector<ScoredToken> prompt() const;
  std::optional<RequestFinish> finish() const;
  std::vector<Clock::Time> first_tokens() const;  // more than one breaks the contract
  int events() const;
  int prompt_deliveries() const;
  int finishes() const;             // more than one breaks the contract
  int events_after_finish() const;  // any breaks the contract

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable finished_;
  std::vector<ScoredToken> tokens_;
  std::vector<ScoredToken> prompt_;
  std::optional<RequestFinish> finish_;
  std::optional<Clock::Time> first_write_;
  std::vector<Clock::Time> first_tokens_;
  int events_ = 0;
  int prompt_deliveries_ = 0;
  int finishes_ = 0;
  int events_after_finish_ = 0;
};

}  // namespace affine
