// What a test reads of a completion call.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "server/request/completion_call.h"

namespace affine {

/// Everything that was read of a call.
struct Answer {
  std::string text;
  std::vector<int32_t> token_ids;
  std::vector<ScoredToken> logprobs;
  std::vector<ScoredToken> prompt_logprobs;
  std::optional<CompletionEnd> end;
};

inline void Read(CompletionCall& call, Answer& answer) {
  while (std::optional<CompletionChunk> chunk = call.Next()) {
    EXPECT_FALSE(answer.end) << "a chunk after the last one";
    answer.text += chunk->text;
    answer.token_ids.insert(answer.token_ids.end(), chunk->token_ids.begin(),
                            chunk->token_ids.end());
    answer.logprobs.insert(answer.logprobs.end(), chunk->logprobs.begin(), chunk->logprobs.end());
    answer.prompt_logprobs.insert(answer.prompt_logprobs.end(), chunk->prompt_logprobs.begin(),
                                  chunk->prompt_logprobs.end());
    answer.end = chunk->end;
  }
}

}  // namespace affine
