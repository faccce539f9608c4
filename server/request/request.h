// A completion that has passed validation: token ids in, limits, and where its tokens go.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/sampling_params.h"
#include "server/request/clock.h"
#include "server/request/output_grammar.h"
#include "server/request/token_sink.h"

namespace affine {

struct Request {
  std::string id;               // for logs and answers; need not be unique
  std::vector<int32_t> prompt;  // [1..max_model_len], each in [0, vocab_size)
  SamplingParams sampling;
  /// What the output must keep to, at its start, for this request alone; null: anything goes. The
  /// engine ends the request with kStop once nothing may follow.
  std::shared_ptr<GrammarMatcher> grammar;
  std::string grammar_field;  // where the caller asked for it, for errors
  int32_t max_tokens = 16;    // 0: only the prompt is computed
  std::vector<int32_t>
      stop_token_ids;      // sorted; any of them ends the output, itself included in it
  int32_t priority = 0;    // lower is served first, as in vLLM
  bool stability = false;  // observe the attention at every position, prompt and output
  std::string cache_salt;  // requests share cached prefixes only under the same salt
  int32_t answer = 0;      // which one of what a caller asked for at once, candidates counted
  /// Prompt and salt are those of the request before it in the submission.
  bool same_prompt = false;
  std::optional<Clock::Time> deadline;
  /// The engine ends it with kGoal as soon as it comes if it expects to be slower than that.
  std::optional<Clock::Duration> max_ttft;  // from arrival to the first token
  std::optional<Clock::Duration> max_time_per_token;
  Clock::Time arrival;              // of the RPC at the front door
  std::shared_ptr<TokenSink> sink;  // never null
};

}  // namespace affine
