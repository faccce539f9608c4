// What a caller asked for, the same whatever front end it came through, before validation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/chat_template.h"
#include "server/request/clock.h"
#include "server/request/structured_output.h"

namespace affine {

/// Text, token ids, or a conversation, which the model's chat template makes text of.
using Prompt = std::variant<std::string, std::vector<int64_t>, ChatPrompt>;

/// Numbers are wide, so that what is out of range can still be named in the error. Fields carry
/// the names and meanings of affine.v1.CompleteRequest, where defaults and limits stand.
struct CompletionParams {
  std::string model;
  Prompt prompt;
  std::vector<Prompt> more_prompts;  // answered after `prompt`, with the same parameters
  std::optional<int64_t> n;
  std::optional<int64_t> best_of;
  bool stream = false;  // the caller gets the answer in pieces
  std::optional<int64_t> max_tokens;
  bool up_to_model_len = false;  // without max_tokens: as many as the model's length leaves; so it
                                 // is for a conversation
  std::optional<double> temperature;
  std::optional<int64_t> top_k;
  std::optional<double> top_p;
  std::optional<uint64_t> seed;
  std::optional<double> min_p;
  std::optional<double> typical_p;
  std::optional<double> repetition_penalty;
  std::optional<double> frequency_penalty;
  std::optional<double> presence_penalty;
  std::vector<std::pair<int64_t, double>> logit_bias;  // ids, each once
  std::optional<std::vector<int64_t>> allowed_token_ids;
  std::vector<std::string> bad_words;
  std::optional<int64_t> min_tokens;
  std::optional<StructuredOutput> structured_output;
  std::vector<std::string> stop;
  std::vector<int64_t> stop_token_ids;
  bool include_stop_str_in_output = false;
  bool ignore_eos = false;
  bool echo = false;
  std::optional<int64_t> logprobs;
  std::optional<int64_t> prompt_logprobs;
  std::vector<int64_t> logprob_token_ids;
  std::optional<int64_t> truncate_prompt_tokens;
  bool skip_special_tokens = true;
  std::string request_id;
  int64_t priority = 0;
  std::string cache_salt;
  std::optional<int64_t> timeout_ms;
  std::optional<int64_t> max_ttft_ms;
  std::optional<double> max_time_per_token_ms;
  bool stability = false;
  bool stability_heads = false;
  std::optional<Clock::Time> deadline;  // of the RPC itself
  Clock::Time arrival{};
};

}  // namespace affine
