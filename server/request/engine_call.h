// One answer that an engine is making: its tokens to chunks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/request/completion_call.h"
#include "server/request/request_validator.h"
#include "server/request/text_assembler.h"
#include "server/request/token_queue.h"

namespace affine {

/// One thread at a time, but Cancel and NoteFirstWrite are thread-safe.
class EngineCall final {
 public:
  /// What the calls of a prompt keep of their request once the engine has it.
  struct Plan {
    std::string request_id;
    std::vector<int32_t> prompt;
    std::vector<int32_t> stop_token_ids;  // sorted
    bool wants_logprobs = false;
    std::string echo_text;
    std::vector<std::string> stop;
    bool include_stop = false;
    int32_t min_tokens = 0;
    bool skip_special_tokens = true;
    bool stability_heads = false;
  };
  static Plan PlanOf(const ValidatedRequest& validated);

  /// `queue` is the sink of the request that `model`'s engine took as `handle`.
  EngineCall(std::shared_ptr<const Plan> plan, const ServedModel& model,
             std::shared_ptr<TokenQueue> queue, RequestHandle handle);
  ~EngineCall();  // cancels if it has not ended
  EngineCall(const EngineCall&) = delete;
  EngineCall& operator=(const EngineCall&) = delete;

  /// The next chunk of everything that has come so far, without number and total.
  std::optional<CompletionChunk> Next();
  void Cancel(RequestError why);
  void NoteFirstWrite(Clock::Time when) { queue_->NoteFirstWrite(when); }
  const Plan& plan() const { return *plan_; }
  bool ended() const { return ended_; }
  /// Tokens given out so far, and the mean of their log-probabilities, if the engine computed
  /// these: by which the best of several answers are found.
  int32_t delivered() const { return delivered_; }
  double mean_log_prob() const { return delivered_ == 0 ? 0.0 : sum_log_prob_ / delivered_; }

 private:
  void Take(TokenEvent event, CompletionChunk& chunk);
  void TakeToken(ScoredToken token, CompletionChunk& chunk);
  CompletionEnd EndOf(RequestFinish finish);
  std::shared_ptr<const StabilitySummary> SummaryOf(std::span<const HeadStability> heads) const;

  const std::shared_ptr<const Plan> plan_;
  const ServedModel& model_;
  const std::shared_ptr<TokenQueue> queue_;
  const RequestHandle handle_;
  TextAssembler assembler_;
  int32_t delivered_ = 0;  // tokens given out in chunks
  double sum_log_prob_ = 0.0;
  bool started_ = false;  // a chunk was given out
  bool stopped_ = false;  // a stop string was completed: later tokens are dropped
  bool ended_ = false;    // the engine's finish was seen
};

}  // namespace affine
