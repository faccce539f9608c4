// A call whose grammar is being compiled.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/request/completion_call.h"
#include "server/request/grammar_source.h"
#include "server/request/request_validator.h"

namespace affine {

/// Stands for the call that `submit` will make once the grammar is there, and then passes
/// everything on to it. A grammar that can't be had is the call's error, in its only chunk, as is
/// what `submit` refuses. `submit` runs within Next().
class GrammarWait final : public CompletionCall {
 public:
  using Validated = std::vector<ValidatedRequest>;
  using Started = std::variant<std::shared_ptr<CompletionCall>, RequestError>;
  using Submit = std::function<Started(Validated, std::shared_ptr<const OutputGrammar>)>;

  /// `model` outlives the call. `validated` is not empty.
  GrammarWait(const ServedModel& model, Validated validated, Submit submit,
              std::function<void()> on_ready);
  ~GrammarWait() override;

  /// For GrammarSource::Get: keeps the result, if the call still lives, and tells the reader.
  std::function<void(GrammarResult)> Receiver() const;

  /// What is to be submitted, by somebody else who has the grammar; the call is of no use then.
  Validated TakeRequests() { return std::move(validated_); }

  std::optional<CompletionChunk> Next() override;
  void Cancel(RequestError why) override;
  void NoteFirstWrite(Clock::Time when) override;
  const std::string& request_id() const override { return request_id_; }
  const std::string& model_name() const override { return model_.name; }
  int32_t num_answers() const override;
  const std::vector<int32_t>& prompt_of(int32_t answer) const override;
  const Tokenizer& tokenizer() const override { return *model_.tokenizer; }

 private:
  /// What the compiling thread and the reader share.
  struct Mailbox {
    std::mutex mutex;
    std::optional<GrammarResult> result;
    std::function<void()> on_ready;  // null: the call is gone
    void Put(GrammarResult given);
  };
  std::optional<CompletionChunk> Begin(GrammarResult result);
  CompletionChunk Refused(RequestError error);

  const ServedModel& model_;
  const std::string request_id_;
  const int32_t answers_of_prompt_;
  std::vector<std::vector<int32_t>> prompts_;
  Validated validated_;  // until it is submitted
  const Submit submit_;
  const std::shared_ptr<Mailbox> mailbox_;
  std::mutex call_mutex_;                 // Cancel may come while Next submits
  std::shared_ptr<CompletionCall> call_;  // guarded by call_mutex_
  bool ended_ = false;                    // the chunk with the error was given out
};

}  // namespace affine
