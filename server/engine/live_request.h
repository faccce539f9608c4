// One accepted request, from the inbox to its finish.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/language_model.h"
#include "server/engine/grammar_state.h"
#include "server/request/request.h"
#include "server/request/token_sink.h"
#include "server/scheduler/sequence.h"

namespace affine {

/// Used on the engine's thread alone.
struct LiveRequest {
  Request request;
  Sequence sequence;
  RequestFinish progress;  // counts and times so far; the finish once reason and end are known
  Clock::Time last_token{};
  std::optional<GrammarState> grammar;     // with request.grammar
  bool owes_prompt_scores = false;         // asked for and not delivered yet
  std::vector<ScoredToken> prompt_scores;  // of tokens 1.., as far as computed; until delivered
  // With request.stability.
  std::shared_ptr<std::vector<HeadStability>> stability;  // [layers, heads]; null before any
  int32_t observed_end = 0;  // positions [0, observed_end) are in `stability`
  uint32_t breaches = 0;     // a bit for each StabilityLimit that was told
};

/// How a request ends.
struct Ending {
  FinishReason reason = FinishReason::kStop;
  std::optional<RequestError> error;  // set exactly with kError
  std::optional<int32_t> stop_token;
};

}  // namespace affine
