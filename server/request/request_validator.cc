#include "server/request/request_validator.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "server/request/chat_rules.h"
#include "server/request/field_checks.h"
#include "server/request/parameter_range.h"
#include "server/request/request_id.h"
#include "server/request/sampling_rules.h"

namespace affine {

namespace {

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();

/// What is too many depends on the prompt: TakeMaxTokens says it, with both numbers.
Checked CheckMaxTokens(const CompletionParams& params, const ModelInfo& model) {
  const bool readable =
      !params.max_tokens || (*params.max_tokens >= 0 && *params.max_tokens <= kInt32Max);
  if (readable) return std::nullopt;
  return IntegerRange{"max_tokens", 0, model.max_model_len}.Check(*params.max_tokens);
}

Checked CheckTruncation(const CompletionParams& params, const ModelInfo& model) {
  const int64_t kept = params.truncate_prompt_tokens.value_or(-1);
  if (kept == -1 || (kept >= 1 && kept <= model.max_model_len)) return std::nullopt;
  return BadInput("truncate_prompt_tokens", "`truncate_prompt_tokens` is " + std::to_string(kept) +
                                                "; it must be an integer in [1, " +
                                                std::to_string(model.max_model_len) +
                                                "], or -1 for what leaves room for max_tokens");
}

Checked CheckNumbers(const CompletionParams& params, const ModelInfo& model) {
  using V = RequestValidator;
  for (Checked error : {
           CheckMaxTokens(params, model),
           CheckTruncation(params, model),
           IntegerRange{"priority", -V::kMaxPriority, V::kMaxPriority}.Check(params.priority),
           CheckIfGiven(IntegerRange{"timeout_ms", 1, V::kMaxTimeoutMs}, params.timeout_ms),
           CheckIfGiven(IntegerRange{"max_ttft_ms", 1, V::kMaxTimeoutMs}, params.max_ttft_ms),
           CheckIfGiven(RealRange{"max_time_per_token_ms", 0, V::kMaxTimeoutMs, true},
                        params.max_time_per_token_ms),
           CheckIfGiven(IntegerRange{"n", 1, V::kMaxAnswersOfPrompt}, params.n),
           CheckIfGiven(IntegerRange{"best_of", 1, V::kMaxAnswersOfPrompt}, params.best_of),
       }) {
    if (error) return error;
  }
  return std::nullopt;
}

Checked CheckAnswers(const CompletionParams& params) {
  const int64_t n = params.n.value_or(1), best_of = params.best_of.value_or(n);
  const std::string both =
      "`best_of` is " + std::to_string(best_of) + " and `n` is " + std::to_string(n) + "; ";
  if (best_of < n) {
    return BadInput("best_of", both +
                                   "the n best of best_of answers are given: best_of must be at "
                                   "least n");
  }
  if (best_of > n && params.stream) {
    return BadInput("best_of", both +
                                   "which are the best is known only once all have ended: ask "
                                   "without a stream, or leave best_of out");
  }
  const auto prompts = static_cast<int64_t>(1 + params.more_prompts.size());
  if (prompts * best_of <= RequestValidator::kMaxAnswers) return std::nullopt;
  return BadInput("prompt", "`prompt` is a list of " + std::to_string(prompts) + " and asks for " +
                                std::to_string(best_of) + " answers to each, " +
                                std::to_string(prompts * best_of) +
                                " together; a request may ask for at most " +
                                std::to_string(RequestValidator::kMaxAnswers));
}

Checked CheckStops(const CompletionParams& params) {
  using V = RequestValidator;
  const size_t strings = params.stop.size(), ids = params.stop_token_ids.size();
  if (Checked error = CheckCount("stop", "strings", strings, V::kMaxStopStrings)) return error;
  if (Checked error = CheckTexts("stop", params.stop, V::kMaxStopBytes)) return error;
  return CheckCount("stop_token_ids", "ids", ids, V::kMaxStopTokenIds);
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

Checked CheckForm(const CompletionParams& params) {
  if (!params.structured_output || !params.allowed_token_ids) return std::nullopt;
  return BadInput("allowed_token_ids",
                  "`allowed_token_ids` and `" + params.structured_output->field +
                      "` are both given; together they may leave nothing to draw, so give one");
}

Checked CheckStability(const CompletionParams& params) {
  if (params.stability || !params.stability_heads) return std::nullopt;
  return BadInput("stability_heads",
                  "`stability_heads` is true and `stability` is false; set `stability` to true as "
                  "well, or leave `stability_heads` out");
}

std::string FieldOf(const Prompt& prompt) {
  return std::holds_alternative<ChatPrompt>(prompt) ? "messages" : "prompt";
}

/// `name` without the place in a list: the field to correct.
std::string ParamOf(const std::string& name) { return name.substr(0, name.find('[')); }

Checked CheckPromptLength(const std::string& name, size_t tokens, const ModelInfo& model) {
  const std::string quoted = "`" + name + "`";
  if (tokens == 0) {
    return BadInput(ParamOf(name), quoted + " is empty; it must have at least 1 token");
  }
  if (tokens > static_cast<size_t>(model.max_model_len)) {
    return BadInput(ParamOf(name), quoted + " has " + std::to_string(tokens) +
                                       " tokens; the model's limit is " +
                                       std::to_string(model.max_model_len) +
                                       " tokens, prompt and output together");
  }
  return std::nullopt;
}

/// How many of the prompt's tokens are used, at most.
size_t MostPromptTokens(const CompletionParams& params, const ModelInfo& model) {
  if (!params.truncate_prompt_tokens) return std::numeric_limits<size_t>::max();
  if (*params.truncate_prompt_tokens > 0) return *params.truncate_prompt_tokens;
  const int64_t output = params.max_tokens.value_or(RequestValidator::kDefaultMaxTokens);
  return std::max<int64_t>(model.max_model_len - output, 1);
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
  const bool up_to_model_len =
      params.up_to_model_len || std::holds_alternative<ChatPrompt>(params.prompt);
  const int64_t otherwise = up_to_model_len ? room : RequestValidator::kDefaultMaxTokens;
  const int64_t wanted = params.max_tokens.value_or(otherwise);
  request.max_tokens = static_cast<int32_t>(std::min(wanted, room));
  return std::nullopt;
}

Checked TakeStopTokens(const CompletionParams& params, const ModelInfo& model, Request& request) {
  std::vector<int32_t>& ids = request.stop_token_ids;
  if (Checked error =
          TakeIds("stop_token_ids", "stop_token_ids", params.stop_token_ids, model, ids)) {
    return error;
  }
  if (!params.ignore_eos) {
    ids.insert(ids.end(), model.eos_token_ids.begin(), model.eos_token_ids.end());
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return std::nullopt;
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

RequestValidator::RequestValidator(const ModelInfo& model, const Tokenizer& tokenizer,
                                   const ChatTemplate* chat_template)
    : model_(model), tokenizer_(tokenizer), chat_template_(chat_template) {}

Checked RequestValidator::CheckAll(const CompletionParams& params) const {
  if (Checked error = CheckNumbers(params, model_)) return error;
  if (Checked error = CheckSampling(params, model_)) return error;
  if (Checked error = CheckAnswers(params)) return error;
  if (Checked error = CheckStops(params)) return error;
  if (Checked error = CheckNames(params)) return error;
  if (Checked error = CheckForm(params)) return error;
  return CheckStability(params);
}

std::variant<ValidatedRequest, RequestError> RequestValidator::Validate(CompletionParams params,
                                                                        uint64_t fresh_seed) const {
  if (Checked error = CheckAll(params)) return *error;
  return ValidateOne(params, params.prompt, FieldOf(params.prompt), fresh_seed);
}

std::variant<std::vector<ValidatedRequest>, RequestError> RequestValidator::ValidateAll(
    const CompletionParams& params, uint64_t fresh_seed) const {
  if (Checked error = CheckAll(params)) return *error;
  std::vector<ValidatedRequest> all;
  const bool one = params.more_prompts.empty();
  for (size_t i = 0; i <= params.more_prompts.size(); ++i) {
    const Prompt& prompt = i == 0 ? params.prompt : params.more_prompts[i - 1];
    const std::string field = FieldOf(prompt);
    const std::string name = one ? field : field + "[" + std::to_string(i) + "]";
    auto checked = ValidateOne(params, prompt, name, fresh_seed);
    if (auto* error = std::get_if<RequestError>(&checked)) return std::move(*error);
    all.push_back(std::get<ValidatedRequest>(std::move(checked)));
    all.back().request.id = all.front().request.id;
  }
  return all;
}

std::optional<RequestError> RequestValidator::TakePrompt(const CompletionParams& params,
                                                         const Prompt& given,
                                                         const std::string& name,
                                                         ValidatedRequest& out) const {
  const std::string* text = std::get_if<std::string>(&given);
  const auto* chat = std::get_if<ChatPrompt>(&given);
  std::string rendered;
  if (text != nullptr) {
    if (Checked error = CheckUtf8("prompt", name, *text)) return error;
  } else if (chat != nullptr) {
    if (Checked error = RenderChat(*chat, chat_template_, rendered)) return error;
    text = &rendered;
  }
  std::vector<int32_t>& prompt = out.request.prompt;
  const size_t most = MostPromptTokens(params, model_);
  const auto take = [&](const auto& ids) -> Checked {
    if (Checked error = CheckPromptLength(name, std::min(ids.size(), most), model_)) return error;
    return TakeIds(ParamOf(name), name, ids, model_, prompt);
  };
  // A chat template writes the special tokens itself.
  if (Checked error = text != nullptr ? take(tokenizer_.Encode(*text, chat == nullptr))
                                      : take(std::get<std::vector<int64_t>>(given))) {
    return error;
  }
  const bool truncated = prompt.size() > most;
  if (truncated) prompt.erase(prompt.begin(), prompt.end() - static_cast<int64_t>(most));
  if (params.echo) {
    const bool as_written = chat == nullptr && text != nullptr && !truncated;
    out.echo_text = as_written ? *text : tokenizer_.Decode(prompt, params.skip_special_tokens);
  }
  return std::nullopt;
}

std::variant<ValidatedRequest, RequestError> RequestValidator::ValidateOne(
    const CompletionParams& params, const Prompt& prompt, const std::string& prompt_name,
    uint64_t fresh_seed) const {
  ValidatedRequest out;
  Request& request = out.request;
  if (Checked error = TakeStopTokens(params, model_, request)) return *error;
  if (Checked error = TakePrompt(params, prompt, prompt_name, out)) return *error;
  if (Checked error = TakeMaxTokens(params, model_, request)) return *error;
  if (Checked error = TakeSampling(params, model_, tokenizer_, fresh_seed, request)) return *error;
  request.id = params.request_id.empty() ? NewRequestId() : params.request_id;
  out.wants_logprobs = params.logprobs.has_value();
  out.num_answers = static_cast<int32_t>(params.n.value_or(1));
  out.num_candidates = static_cast<int32_t>(params.best_of.value_or(out.num_answers));
  if (out.num_candidates > out.num_answers) {
    request.sampling.top_log_probs = std::max(request.sampling.top_log_probs, 0);
  }
  request.priority = static_cast<int32_t>(params.priority);
  request.stability = params.stability;
  request.cache_salt = params.cache_salt;
  request.deadline = DeadlineOf(params);
  if (params.max_ttft_ms) request.max_ttft = std::chrono::milliseconds(*params.max_ttft_ms);
  if (params.max_time_per_token_ms) {
    request.max_time_per_token = std::chrono::duration_cast<Clock::Duration>(
        std::chrono::duration<double, std::milli>(*params.max_time_per_token_ms));
  }
  request.arrival = params.arrival;
  out.stop = params.stop;
  out.include_stop_str_in_output = params.include_stop_str_in_output;
  out.skip_special_tokens = params.skip_special_tokens;
  out.stability_heads = params.stability_heads;
  return out;
}

}  // namespace affine
