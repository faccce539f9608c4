// All answers of one request, as one call: each is made by an EngineCall.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/request/completion_call.h"
#include "server/request/engine_call.h"
#include "server/request/ready_signal.h"

namespace affine {

/// Calls stand prompt by prompt, `num_candidates` of each. With as many candidates as answers,
/// candidate i is answer i and chunks go out as they come. With more, everything is kept until all
/// have ended; then of each prompt those with the highest mean log-probability of a token go out,
/// the best first and of equals the earlier, each as one chunk. What a prompt's first candidate
/// alone computes, the prompt's log-probabilities, every answer of the prompt gets.
class AnswerGroup final : public CompletionCall {
 public:
  using Calls = std::vector<std::unique_ptr<EngineCall>>;
  /// `calls` is not empty; their queues raise `ready`. `model` outlives the group.
  AnswerGroup(const ServedModel& model, Calls calls, int32_t num_answers, int32_t num_candidates,
              bool shares_prompt_logprobs, std::shared_ptr<ReadySignal> ready);

  std::optional<CompletionChunk> Next() override;
  void Cancel(RequestError why) override;
  void NoteFirstWrite(Clock::Time when) override;
  const std::string& request_id() const override { return calls_.front()->plan().request_id; }
  const std::string& model_name() const override { return model_.name; }
  int32_t num_answers() const override;
  const std::vector<int32_t>& prompt_of(int32_t answer) const override;
  const Tokenizer& tokenizer() const override { return *model_.tokenizer; }

 private:
  bool ranks() const { return num_candidates_ > num_answers_; }
  std::optional<CompletionChunk> ReadNext();
  std::optional<CompletionChunk> Read(size_t call);
  void SharePromptLogProbs(size_t call, CompletionChunk& chunk);
  CompletionChunk Failed(CompletionChunk chunk);
  void Keep(size_t call, CompletionChunk chunk);
  void Rank();
  CompletionChunk Given(CompletionChunk chunk);
  CompletionUsage Total() const;

  const ServedModel& model_;
  const Calls calls_;
  const int32_t num_answers_;     // of a prompt
  const int32_t num_candidates_;  // of a prompt
  const bool shares_prompt_logprobs_;
  const std::shared_ptr<ReadySignal> ready_;
  size_t turn_ = 0;                                        // the call that is asked first
  std::vector<bool> begun_;                                // [calls]: a chunk was read
  std::vector<int32_t> cached_;                            // [calls]: cached tokens, once ended
  std::vector<std::vector<ScoredToken>> prompt_logprobs_;  // [prompts]: until all have them
  std::vector<CompletionChunk> kept_;                      // [calls], while candidates are ranked
  std::deque<CompletionChunk> ranked_;                     // to be given out
  size_t first_call_ = 0;                                  // that brought the first token
  bool has_first_token_ = false;
  size_t reading_ = 0;   // calls that have not ended
  int32_t to_end_ = 0;   // answers whose last chunk was not given out
  bool closed_ = false;  // the last chunk was given out
};

}  // namespace affine
