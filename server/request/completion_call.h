// One request's completions as a front end sees them: started from parameters, read as chunks,
// cancelled.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/request/completion_params.h"
#include "server/request/served_models.h"
#include "server/request/stability_summary.h"
#include "server/request/token_sink.h"

namespace affine {

struct CompletionUsage {
  int32_t prompt_tokens = 0;  // a prompt counts once, however many answers it has
  int32_t cached_tokens = 0;
  int32_t output_tokens = 0;  // delivered: up to the token that completed a stop string
};

struct CompletionEnd {
  FinishReason reason = FinishReason::kStop;
  std::optional<RequestError> error;  // set exactly with kError
  bool refused = false;  // with an error: no engine had taken the request, so none tells of it
  CompletionUsage usage;
  /// With `stability`, and never with kError; null otherwise.
  std::shared_ptr<const StabilitySummary> stability;
};

/// A settled piece of one answer. An answer's pieces concatenate to the whole: text byte for byte,
/// ids one by one, whatever the pieces' borders.
struct CompletionChunk {
  int32_t answer =
      0;  // [0, num_answers): the prompt's place * answers of a prompt + which of these
  // Whole characters, no part of a stop string; with echo the prompt's text first.
  std::string text;
  std::vector<int32_t> token_ids;
  std::vector<ScoredToken> logprobs;         // with `logprobs`: one for each of token_ids
  std::vector<ScoredToken> prompt_logprobs;  // an answer's first chunk only: prompt tokens 1..
  // When the engine had the call's first token; in the chunk that brings it, and only there.
  std::optional<Clock::Time> first_token;
  std::optional<CompletionEnd> end;  // an answer's last chunk only; its own usage
  /// In the call's last chunk, and only there: everything that was computed for it, candidates that
  /// lost included. Follows an error at once, whatever other answers there are.
  std::optional<CompletionUsage> total;
};

/// All answers of one request. An error of one ends all of them.
class CompletionCall {
 public:
  virtual ~CompletionCall() = default;  // cancels if it has not ended
  /// The next chunk of everything that has come so far, of any answer, or none if nothing has come
  /// since. Answers take turns. Runs detokenising and stop strings on the caller's thread. One
  /// thread at a time.
  virtual std::optional<CompletionChunk> Next() = 0;
  /// Thread-safe. The engine frees the request's blocks before its next step; a last chunk with
  /// kError follows unless the call had ended.
  virtual void Cancel(RequestError why) = 0;
  /// The chunk with `first_token` was handed to the caller's stream, for the request's log line.
  virtual void NoteFirstWrite(Clock::Time when) = 0;
  virtual const std::string& request_id() const = 0;
  virtual const std::string& model_name() const = 0;
  virtual int32_t num_answers() const = 0;  // of all prompts together
  /// The prompt that `answer` follows.
  virtual const std::vector<int32_t>& prompt_of(int32_t answer) const = 0;
  const std::vector<int32_t>& prompt_token_ids() const { return prompt_of(0); }
  virtual const Tokenizer& tokenizer() const = 0;
};

/// Validates `params` against the model it names, tokenises its prompts and submits `best_of`
/// requests for each, all or none. `on_ready` is called, on the engine's thread, whenever Next()
/// has something new, possibly before this has returned: it must only post work elsewhere. It is
/// not called after the call was destroyed. Errors name field, value and limit; nothing is queued
/// then. With a structured_output that is yet to be compiled the call is returned all the same, and
/// what is wrong with that or refused by the engine comes as its end.
std::variant<std::shared_ptr<CompletionCall>, RequestError> StartCompletion(
    CompletionParams params, const ServedModels& models, std::function<void()> on_ready);

}  // namespace affine
