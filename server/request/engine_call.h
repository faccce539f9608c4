// A completion that runs on an engine.
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

class EngineCall final : public CompletionCall {
 public:
  /// What the call keeps of a request once the engine has it.
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
  EngineCall(Plan plan, const ServedModel& model, std::shared_ptr<TokenQueue> queue,
             RequestHandle handle);
  ~EngineCall() override;
  EngineCall(const EngineCall&) = delete;
  EngineCall& operator=(const EngineCall&) = delete;

  std::optional<CompletionChunk> Next() override;
  void Cancel(RequestError why) override;
  void NoteFirstWrite(Clock::Time when) override { queue_->NoteFirstWrite(when); }
  const std::string& request_id() const override { return plan_.request_id; }
  const std::string& model_name() const override { return model_.name; }
  const std::vector<int32_t>& prompt_token_ids() const override { return plan_.prompt; }
  const Tokenizer& tokenizer() const override { return *model_.tokenizer; }

 private:
  void Take(TokenEvent event, CompletionChunk& chunk);
  void TakeToken(ScoredToken token, CompletionChunk& chunk);
  CompletionEnd EndOf(RequestFinish finish);
  std::shared_ptr<const StabilitySummary> SummaryOf(std::span<const HeadStability> heads) const;

  const Plan plan_;
  const ServedModel& model_;
  const std::shared_ptr<TokenQueue> queue_;
  const RequestHandle handle_;
  TextAssembler assembler_;
  int32_t delivered_ = 0;  // tokens given out in chunks
  bool started_ = false;   // a chunk was given out
  bool stopped_ = false;   // a stop string was completed: later tokens are dropped
  bool ended_ = false;     // the engine's finish was seen
};

}  // namespace affine
