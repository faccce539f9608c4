// An answer's chunks as vLLM's GenerateResponse messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/request/completion_call.h"
#include "vllm/grpc/engine/vllm_engine.pb.h"

namespace affine {

/// One thread at a time.
class GenerateAnswer {
 public:
  GenerateAnswer() = default;
  explicit GenerateAnswer(const ::vllm::grpc::engine::GenerateRequest& request);
  bool stream() const { return stream_; }
  /// Takes the next chunk. In a stream it gives the message for it; else that stays empty, and the
  /// chunk is part of what Complete() gives.
  ::vllm::grpc::engine::GenerateResponse Take(const CompletionChunk& chunk,
                                              const CompletionCall& call);
  /// The last message, after the last chunk was taken. An error there counts as an abort.
  ::vllm::grpc::engine::GenerateResponse Complete(const CompletionEnd& end,
                                                  const CompletionCall& call);

 private:
  using Complete_ = ::vllm::grpc::engine::GenerateComplete;
  void SetMatchedStop(const CompletionCall& call, Complete_& complete) const;

  bool stream_ = false;
  bool first_ = true;
  int32_t top_ = 0;         // alternatives of the answer's tokens
  int32_t prompt_top_ = 0;  // of the prompt's
  std::vector<std::string> stop_;
  std::vector<int32_t> stop_token_ids_;
  bool skip_special_tokens_ = false;
  Complete_ complete_;  // the ids, and without a stream the log-probabilities, so far
};

}  // namespace affine
