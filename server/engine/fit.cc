#include "server/engine/fit.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace affine {
namespace {

RequestError BadInput(std::string param, std::string message) {
  return {.cause = ErrorCause::kBadInput,
          .message = std::move(message),
          .param = std::move(param),
          .retry_after_seconds = 0};
}

}  // namespace

std::optional<RequestError> WhyNeverFits(const Request& request, const ModelInfo& info) {
  const int64_t prompt = static_cast<int64_t>(request.prompt.size());
  if (prompt == 0) return BadInput("prompt", "prompt has 0 tokens; at least 1 is needed");
  if (prompt > info.max_model_len) {
    return BadInput("prompt", "prompt has " + std::to_string(prompt) +
                                  " tokens; the model's length is " +
                                  std::to_string(info.max_model_len));
  }
  if (request.max_tokens < 0) {
    return BadInput("max_tokens", "max_tokens is " + std::to_string(request.max_tokens) +
                                      "; it must be at least 0");
  }
  const int64_t length = std::min<int64_t>(prompt + request.max_tokens, info.max_model_len);
  // The last token sampled is never computed, so it needs no place in the cache.
  const int64_t cached = length > prompt ? length - 1 : length;
  const int64_t capacity = int64_t{info.num_blocks} * info.block_size;
  if (cached <= capacity) return std::nullopt;
  return BadInput(prompt > capacity ? "prompt" : "max_tokens",
                  "prompt has " + std::to_string(prompt) + " tokens and max_tokens is " +
                      std::to_string(request.max_tokens) + ": " + std::to_string(cached) +
                      " tokens to keep, but the cache holds " + std::to_string(capacity) +
                      "; shorten the prompt, lower max_tokens or give the server more cache");
}

}  // namespace affine
