#include "server/request/request_validator.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "model/utf8.h"
#include "server/request/parameter_range.h"
#include "server/request/request_id.h"

namespace affine {

namespace {

using Checked = std::optional<RequestError>;

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();

RequestError BadInput(std::string_view field, std::string message) {
  return {ErrorCause::kBadInput, std::move(message), std::string(field)};
}

Checked CheckUtf8(std::string_view field, const std::string& name, std::string_view text) {
  if (IsValidUtf8(text)) return std::nullopt;
  return BadInput(field, "`" + name + "` is not valid UTF-8; it must be text in UTF-8");
}

template <typename Range, typename Value>
Checked CheckIfGiven(const Range& range, const std::optional<Value>& value) {
  return value ? range.Check(*value) : std::nullopt;
}

/// What is too many depends on the prompt: TakeMaxTokens says it, with both numbers.
Checked CheckMaxTokens(const CompletionParams& params, const ModelInfo& model) {
  const bool readable =
      !params.max_tokens || (*params.max_tokens >= 0 && *params.max_tokens <= kInt32Max);
  if (readable) return std::nullopt;
  return IntegerRange{"max_tokens", 0, model.max_model_len}.Check(*params.max_tokens);
}

Checked CheckNumbers(const CompletionParams& params, const ModelInfo& model) {
  const int64_t most_alternatives = kMaxTopLogProbs;
  using V = RequestValidator;
  for (Checked error : {
           CheckIfGiven(RealRange{"temperature", 0, 100}, params.temperature),
           CheckIfGiven(RealRange{"top_p", 0, 1, true}, params.top_p),
           CheckIfGiven(IntegerRange{"top_k", -1, kInt32Max}, params.top_k),
           CheckMaxTokens(params, model),
           CheckIfGiven(IntegerRange{"logprobs", 0, most_alternatives}, params.logprobs),
           CheckIfGiven(IntegerRange{"prompt_logprobs", 0, most_alternatives},
                        params.prompt_logprobs),
           IntegerRange{"priority", -V::kMaxPriority, V::kMaxPriority}.Check(params.priority),
           CheckIfGiven(IntegerRange{"timeout_ms", 1, V::kMaxTimeoutMs}, params.timeout_ms),
       }) {
    if (error) return error;
  }
  return std::nullopt;
}

Checked CheckStops(const CompletionParams& params) {
  using V = RequestValidator;
  if (params.stop.size() > V::kMaxStopStrings) {
    return BadInput("stop", "`stop` has " + std::to_string(params.stop.size()) +
                                " strings; it must have at most " +
                                std::to_string(V::kMaxStopStrings));
  }
  for (size_t i = 0; i < params.stop.size(); ++i) {
    const std::string name = "stop[" + std::to_string(i) + "]";
    const size_t bytes = params.stop[i].size();
    if (bytes < 1 || bytes > V::kMaxStopBytes) {
      return BadInput("stop", "`" + name + "` has " + std::to_string(bytes) +
                                  " bytes; it must have 1 to " + std::to_string(V::kMaxStopBytes));
    }
    if (Checked error = CheckUtf8("stop", name, params.stop[i])) return error;
  }
  if (params.stop_token_ids.size() > V::kMaxStopTokenIds) {
    return BadInput("stop_token_ids",
                    "`stop_token_ids` has " + std::to_string(params.stop_token_ids.size()) +
                        " ids; it must have at most " + std::to_string(V::kMaxStopTokenIds));
  }
  return std::nullopt;
}

Checked CheckNames(const CompletionParams& params) {
  if (Checked error = CheckRequestId(params.request_id)) return error;
  if (params.cache_salt.size() > RequestValidator::kMaxCacheSaltBytes) {
    return BadInput("cache_salt", "`cache_salt` has " + std::to_string(params.cache_salt.size()) +
                                      " bytes; it must have at most " +
                                      std::to_string(RequestValidator::kMaxCacheSaltBytes));
  }
  return std::nullopt;
}

Checked CheckStability(const CompletionParams& params) {
  if (params.stability || !params.stability_heads) return std::nullopt;
  return BadInput("stability_heads",
                  "`stability_heads` is true and `stability` is false; set `stability` to true as "
                  "well, or leave `stability_heads` out");
}

/// Narrows `ids` to the model's type once every one is in its vocabulary.
template <typename Id>
Checked TakeIds(std::string_view field, const std::vector<Id>& ids, const ModelInfo& model,
                std::vector<int32_t>& out) {
  out.reserve(out.size() + ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string name = std::string(field) + "[" + std::to_string(i) + "]";
    if (ids[i] < 0 || ids[i] >= model.vocab_size) {
      return BadInput(field, "`" + name + "` is " + std::to_string(ids[i]) +
                                 "; it must be a token id in [0, " +
                                 std::to_string(model.vocab_size - 1) + "]");
    }
    out.push_back(static_cast<int32_t>(ids[i]));
  }
  return std::nullopt;
}

Checked CheckPromptLength(size_t tokens, const ModelInfo& model) {
  if (tokens == 0) return BadInput("prompt", "`prompt` is empty; it must have at least 1 token");
  if (tokens > static_cast<size_t>(model.max_model_len)) {
    return BadInput(
        "prompt", "`prompt` has " + std::to_string(tokens) + " tokens; the model's limit is " +
                      std::to_string(model.max_model_len) + " tokens, prompt and output together");
  }
  return std::nullopt;
}

Checked TakePrompt(const CompletionParams& params, const ModelInfo& model,
                   const Tokenizer& tokenizer, ValidatedRequest& out) {
  if (const auto* ids = std::get_if<std::vector<int64_t>>(&params.prompt)) {
    if (Checked error = CheckPromptLength(ids->size(), model)) return error;
    if (Checked error = TakeIds("prompt", *ids, model, out.request.prompt)) return error;
    if (params.echo) {
      out.echo_text = tokenizer.Decode(out.request.prompt, params.skip_special_tokens);
    }
    return std::nullopt;
  }
  const std::string& text = std::get<std::string>(params.prompt);
  if (Checked error = CheckUtf8("prompt", "prompt", text)) return error;
  const std::vector<int32_t> ids = tokenizer.Encode(text, /*add_special_tokens=*/true);
  if (Checked error = CheckPromptLength(ids.size(), model)) return error;
  if (Checked error = TakeIds("prompt", ids, model, out.request.prompt)) return error;
  if (params.echo) out.echo_text = text;
  return std::nullopt;
}

Checked TakeMaxTokens(const CompletionParams& params, const ModelInfo& model, Request& request) {
  const int64_t prompt = static_cast<int64_t>(request.prompt.size());
  const int64_t room = model.max_model_len - prompt;
  if (params.max_tokens && *params.max_tokens > room) {
    return BadInput("max_tokens",
                    "`max_tokens` is " + std::to_string(*params.max_tokens) +
                        " and the prompt has " + std::to_string(prompt) + " tokens, " +
                        std::to_string(prompt + *params.max_tokens) +
                        " together; the model's limit is " + std::to_string(model.max_model_len) +
                        " tokens, which leaves max_tokens in [0, " + std::to_string(room) + "]");
  }
  const int64_t wanted = params.max_tokens.value_or(RequestValidator::kDefaultMaxTokens);
  request.max_tokens = static_cast<int32_t>(std::min(wanted, room));
  return std::nullopt;
}

Checked TakeStopTokens(const CompletionParams& params, const ModelInfo& model, Request& request) {
  std::vector<int32_t>& ids = request.stop_token_ids;
  if (Checked error = TakeIds("stop_token_ids", params.stop_token_ids, model, ids)) return error;
  if (!params.ignore_eos) {
    ids.insert(ids.end(), model.eos_token_ids.begin(), model.eos_token_ids.end());
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return std::nullopt;
}

SamplingParams SamplingOf(const CompletionParams& params, const ModelInfo& model,
                          uint64_t fresh_seed) {
  SamplingParams sampling;
  sampling.temperature = static_cast<float>(params.temperature.value_or(model.default_temperature));
  sampling.top_k =
      static_cast<int32_t>(std::max<int64_t>(params.top_k.value_or(model.default_top_k), 0));
  // A positive double may be 0 as a float, which would be outside (0, 1].
  sampling.top_p = std::max(static_cast<float>(params.top_p.value_or(model.default_top_p)),
                            std::numeric_limits<float>::min());
  sampling.seed = params.seed.value_or(fresh_seed);
  sampling.top_log_probs = static_cast<int32_t>(params.logprobs.value_or(-1));
  const std::optional<int64_t> implied = params.echo ? params.logprobs : std::nullopt;
  const std::optional<int64_t> prompt = params.prompt_logprobs ? params.prompt_logprobs : implied;
  sampling.prompt_top_log_probs = static_cast<int32_t>(prompt.value_or(-1));
  return sampling;
}

std::optional<Clock::Time> DeadlineOf(const CompletionParams& params) {
  std::optional<Clock::Time> deadline = params.deadline;
  if (params.timeout_ms) {
    const Clock::Time timeout = params.arrival + std::chrono::milliseconds(*params.timeout_ms);
    deadline = deadline ? std::min(*deadline, timeout) : timeout;
  }
  return deadline;
}

}  // namespace

RequestValidator::RequestValidator(const ModelInfo& model, const Tokenizer& tokenizer)
    : model_(model), tokenizer_(tokenizer) {}

std::variant<ValidatedRequest, RequestError> RequestValidator::Validate(CompletionParams params,
                                                                        uint64_t fresh_seed) const {
  if (Checked error = CheckNumbers(params, model_)) return *error;
  if (Checked error = CheckStops(params)) return *error;
  if (Checked error = CheckNames(params)) return *error;
  if (Checked error = CheckStability(params)) return *error;
  ValidatedRequest out;
  Request& request = out.request;
  if (Checked error = TakeStopTokens(params, model_, request)) return *error;
  if (Checked error = TakePrompt(params, model_, tokenizer_, out)) return *error;
  if (Checked error = TakeMaxTokens(params, model_, request)) return *error;
  request.id = params.request_id.empty() ? NewRequestId() : std::move(params.request_id);
  request.sampling = SamplingOf(params, model_, fresh_seed);
  request.priority = static_cast<int32_t>(params.priority);
  request.stability = params.stability;
  request.cache_salt = std::move(params.cache_salt);
  request.deadline = DeadlineOf(params);
  request.arrival = params.arrival;
  out.stop = std::move(params.stop);
  out.skip_special_tokens = params.skip_special_tokens;
  out.stability_heads = params.stability_heads;
  return out;
}

}  // namespace affine
