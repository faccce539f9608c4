#include "server/request/sampling_rules.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/request/parameter_range.h"

namespace affine {
namespace {

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();

Checked CheckNumbers(const CompletionParams& params) {
  const int64_t most_alternatives = kMaxTopLogProbs;
  for (Checked error : {
           CheckIfGiven(RealRange{"temperature", 0, 100}, params.temperature),
           CheckIfGiven(RealRange{"top_p", 0, 1, true}, params.top_p),
           CheckIfGiven(IntegerRange{"top_k", -1, kInt32Max}, params.top_k),
           CheckIfGiven(RealRange{"min_p", 0, 1}, params.min_p),
           CheckIfGiven(RealRange{"typical_p", 0, 1, true}, params.typical_p),
           CheckIfGiven(RealRange{"repetition_penalty", 0, 100, true}, params.repetition_penalty),
           CheckIfGiven(RealRange{"frequency_penalty", -2, 2}, params.frequency_penalty),
           CheckIfGiven(RealRange{"presence_penalty", -2, 2}, params.presence_penalty),
           CheckIfGiven(IntegerRange{"min_tokens", 0, kInt32Max}, params.min_tokens),
           CheckIfGiven(IntegerRange{"logprobs", 0, most_alternatives}, params.logprobs),
           CheckIfGiven(IntegerRange{"prompt_logprobs", 0, most_alternatives},
                        params.prompt_logprobs),
       }) {
    if (error) return error;
  }
  return std::nullopt;
}

Checked CheckBias(const CompletionParams& params, const ModelInfo& model) {
  for (const auto& [id, bias] : params.logit_bias) {
    const std::string name = "logit_bias[" + std::to_string(id) + "]";
    if (id < 0 || id >= model.vocab_size) {
      return BadInput("logit_bias", "`logit_bias` names " + std::to_string(id) +
                                        "; it must be a token id in [0, " +
                                        std::to_string(model.vocab_size - 1) + "]");
    }
    if (Checked error = RealRange{name, -100, 100}.Check(bias)) {
      error->param = "logit_bias";
      return error;
    }
  }
  return std::nullopt;
}

Checked CheckLists(const CompletionParams& params) {
  if (params.allowed_token_ids && params.allowed_token_ids->empty()) {
    return BadInput("allowed_token_ids",
                    "`allowed_token_ids` has 0 ids; it must have at least 1, or be left out to "
                    "allow all");
  }
  const std::vector<std::string>& words = params.bad_words;
  if (Checked error = CheckCount("bad_words", "strings", words.size(), kMaxBadWords)) return error;
  if (Checked error = CheckTexts("bad_words", words, kMaxBadWordBytes)) return error;
  const size_t ids = params.logprob_token_ids.size();
  if (ids > 0 && !params.logprobs) {
    return BadInput("logprob_token_ids",
                    "`logprob_token_ids` is given without `logprobs`; set `logprobs`, to 0 for "
                    "these ids alone, or leave `logprob_token_ids` out");
  }
  return CheckCount("logprob_token_ids", "ids", ids, kMaxLogProbIds);
}

/// A positive double may be 0 as a float, which would be outside (0, ...].
float AboveZero(double value) {
  return std::max(static_cast<float>(value), std::numeric_limits<float>::min());
}

void TakeNumbers(const CompletionParams& params, const ModelInfo& model, SamplingParams& sampling) {
  sampling.temperature = static_cast<float>(params.temperature.value_or(model.default_temperature));
  sampling.top_k =
      static_cast<int32_t>(std::max<int64_t>(params.top_k.value_or(model.default_top_k), 0));
  sampling.top_p = AboveZero(params.top_p.value_or(model.default_top_p));
  sampling.min_p = static_cast<float>(params.min_p.value_or(model.default_min_p));
  sampling.typical_p = AboveZero(params.typical_p.value_or(1.0));
  sampling.repetition_penalty =
      AboveZero(params.repetition_penalty.value_or(model.default_repetition_penalty));
  sampling.frequency_penalty = static_cast<float>(params.frequency_penalty.value_or(0.0));
  sampling.presence_penalty = static_cast<float>(params.presence_penalty.value_or(0.0));
  sampling.top_log_probs = static_cast<int32_t>(params.logprobs.value_or(-1));
  const std::optional<int64_t> implied = params.echo ? params.logprobs : std::nullopt;
  const std::optional<int64_t> prompt = params.prompt_logprobs ? params.prompt_logprobs : implied;
  sampling.prompt_top_log_probs = static_cast<int32_t>(prompt.value_or(-1));
}

/// A bias of 0 is none.
void TakeBias(const CompletionParams& params, SamplingParams& sampling) {
  for (const auto& [id, bias] : params.logit_bias) {
    const auto added = static_cast<float>(bias);
    if (added != 0.0f) sampling.logit_bias.emplace_back(static_cast<int32_t>(id), added);
  }
}

Checked TakeAllowed(const CompletionParams& params, const ModelInfo& model,
                    SamplingParams& sampling) {
  if (!params.allowed_token_ids) return std::nullopt;
  std::vector<int32_t> ids;
  const char* field = "allowed_token_ids";
  if (Checked error = TakeIds(field, field, *params.allowed_token_ids, model, ids)) {
    return error;
  }
  sampling.allowed = TokenMask(model.vocab_size);
  for (const int32_t id : ids) sampling.allowed.Add(id);
  return std::nullopt;
}

Checked TakeMinTokens(const CompletionParams& params, const Request& request,
                      SamplingParams& sampling) {
  const int64_t least = params.min_tokens.value_or(0);
  if (least > request.max_tokens) {
    return BadInput("min_tokens", "`min_tokens` is " + std::to_string(least) + " and at most " +
                                      std::to_string(request.max_tokens) +
                                      " tokens are made; it must be an integer in [0, " +
                                      std::to_string(request.max_tokens) +
                                      "], or `max_tokens` larger");
  }
  if (least == 0) return std::nullopt;
  const std::vector<int32_t>& stops = request.stop_token_ids;
  const auto ends = [&](int64_t id) { return std::ranges::binary_search(stops, id); };
  if (params.allowed_token_ids && std::ranges::all_of(*params.allowed_token_ids, ends)) {
    return BadInput("allowed_token_ids",
                    "`allowed_token_ids` has only ids that end the answer and `min_tokens` is " +
                        std::to_string(least) + "; allow another id, or set `min_tokens` to 0");
  }
  sampling.min_tokens = static_cast<int32_t>(least);
  sampling.held_back_ids = stops;
  return std::nullopt;
}

/// Each word as it is at the start of a text, and after a space.
Checked TakeBadWords(const CompletionParams& params, const ModelInfo& model,
                     const Tokenizer& tokenizer, SamplingParams& sampling) {
  for (size_t i = 0; i < params.bad_words.size(); ++i) {
    std::string_view word = params.bad_words[i];
    word.remove_prefix(std::min(word.find_first_not_of(" \t\n\v\f\r"), word.size()));
    const std::string name = "bad_words[" + std::to_string(i) + "]";
    if (word.empty()) {
      return BadInput("bad_words",
                      "`" + name + "` is only spaces; it must have a visible character");
    }
    for (const char* before : {"", " "}) {
      const std::string text = before + std::string(word);
      std::vector<int32_t> ids = tokenizer.Encode(text, /*add_special_tokens=*/false);
      for (const int32_t id : ids) {
        if (Checked error = CheckId("bad_words", name, id, model)) return error;
      }
      auto& words = sampling.bad_words;
      if (!ids.empty() && std::ranges::find(words, ids) == words.end()) {
        words.push_back(std::move(ids));
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Checked CheckSampling(const CompletionParams& params, const ModelInfo& model) {
  if (Checked error = CheckNumbers(params)) return error;
  if (Checked error = CheckLists(params)) return error;
  return CheckBias(params, model);
}

Checked TakeSampling(const CompletionParams& params, const ModelInfo& model,
                     const Tokenizer& tokenizer, uint64_t fresh_seed, Request& request) {
  SamplingParams& sampling = request.sampling;
  TakeNumbers(params, model, sampling);
  sampling.seed = params.seed.value_or(fresh_seed);
  TakeBias(params, sampling);
  if (Checked error = TakeAllowed(params, model, sampling)) return error;
  if (Checked error = TakeMinTokens(params, request, sampling)) return error;
  const char* chosen = "logprob_token_ids";
  if (Checked error =
          TakeIds(chosen, chosen, params.logprob_token_ids, model, sampling.log_prob_ids)) {
    return error;
  }
  return TakeBadWords(params, model, tokenizer, sampling);
}

}  // namespace affine
