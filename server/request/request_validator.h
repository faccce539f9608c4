// From what a caller asked for to what an engine can run.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "model/chat_template.h"
#include "model/model_info.h"
#include "model/tokenizer.h"
#include "server/request/completion_params.h"
#include "server/request/request.h"
#include "server/request/request_error.h"

namespace affine {

/// A request for the engine, and what the text side needs to turn its tokens into the answer.
struct ValidatedRequest {
  Request request;  // without a sink
  std::vector<std::string> stop;
  bool include_stop_str_in_output = false;
  std::string echo_text;        // comes before the answer; empty without echo
  bool wants_logprobs = false;  // of the answer's tokens, in the answer
  int32_t num_answers = 1;      // the best so many of
  int32_t num_candidates = 1;   // so many; if more, their log-probabilities are computed
  bool skip_special_tokens = true;
  bool stability_heads = false;
};

/// Thread-safe. Keeps references: all outlive it.
class RequestValidator {
 public:
  static constexpr int32_t kDefaultMaxTokens = 16;
  static constexpr size_t kMaxStopStrings = 64;
  static constexpr size_t kMaxStopBytes = 1024;
  static constexpr size_t kMaxStopTokenIds = 1024;
  static constexpr size_t kMaxCacheSaltBytes = 256;
  static constexpr int64_t kMaxPriority = 1000;
  static constexpr int64_t kMaxTimeoutMs = 86'400'000;
  static constexpr int64_t kMaxAnswersOfPrompt = 128;  // n and best_of
  static constexpr int64_t kMaxAnswers = 1024;         // prompts times best_of

  /// Without a `chat_template` conversations are refused.
  RequestValidator(const ModelInfo& model, const Tokenizer& tokenizer,
                   const ChatTemplate* chat_template = nullptr);

  /// Checks all of `params` but the model's name and tokenises its one prompt, cheap checks first.
  /// `fresh_seed` seeds the draw of a request that brings no seed. Errors are kBadInput and name
  /// field, value and limit.
  std::variant<ValidatedRequest, RequestError> Validate(CompletionParams params,
                                                        uint64_t fresh_seed) const;
  /// The same for each of its prompts, in order: they differ in nothing else.
  std::variant<std::vector<ValidatedRequest>, RequestError> ValidateAll(
      const CompletionParams& params, uint64_t fresh_seed) const;

 private:
  std::optional<RequestError> CheckAll(const CompletionParams& params) const;
  std::variant<ValidatedRequest, RequestError> ValidateOne(const CompletionParams& params,
                                                           const Prompt& prompt,
                                                           const std::string& prompt_name,
                                                           uint64_t fresh_seed) const;
  std::optional<RequestError> TakePrompt(const CompletionParams& params, const Prompt& given,
                                         const std::string& name, ValidatedRequest& out) const;

  const ModelInfo& model_;
  const Tokenizer& tokenizer_;
  const ChatTemplate* const chat_template_;
};

}  // namespace affine
