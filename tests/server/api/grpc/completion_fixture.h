// Calls to the completion service over a real channel, before an engine that does as it is told.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/api/grpc/grpc_fixture.h"

namespace affine {

inline const std::string kBigPiece(60'000, 'x');

class CompletionFixture : public GrpcFixture {
 protected:
  CompletionFixture() : GrpcFixture({"\xe2\x82", "\xac", kBigPiece}) { Serve(); }

  /// Everything that a stream brings until its end.
  struct StreamAnswer {
    v1::CompleteResponse whole;
    std::vector<v1::CompleteChunk> chunks;
    grpc::Status status;
  };
  static StreamAnswer ReadAll(grpc::ClientReader<v1::CompleteChunk>& reader) {
    StreamAnswer answer;
    v1::CompleteChunk chunk;
    while (reader.Read(&chunk)) {
      answer.chunks.push_back(chunk);
      answer.whole.mutable_text()->append(chunk.text());
      answer.whole.mutable_token_ids()->MergeFrom(chunk.token_ids());
      answer.whole.mutable_logprobs()->MergeFrom(chunk.logprobs());
      answer.whole.mutable_prompt_logprobs()->MergeFrom(chunk.prompt_logprobs());
      answer.whole.mutable_prompt_token_ids()->MergeFrom(chunk.prompt_token_ids());
      answer.whole.mutable_model()->append(chunk.model());
      answer.whole.set_request_id(chunk.request_id());
      if (chunk.has_usage()) {
        *answer.whole.mutable_usage() = chunk.usage();
        answer.whole.set_finish_reason(chunk.finish_reason());
      }
    }
    answer.status = reader.Finish();
    return answer;
  }
  /// What the engine makes of request `handle`: two log-probabilities for the prompt, five tokens.
  void Play(RequestHandle handle) {
    engine_.AwaitRequest(handle);
    TokenEvent first;
    first.prompt = {ScriptedEngine::Scored('i')};
    first.tokens = {ScriptedEngine::Scored('a'), ScriptedEngine::Scored(256)};
    first.tokens[0].top = {{'a', -0.5f}, {256, -1.5f}};
    engine_.Push(handle, first);
    engine_.Emit(handle, {257});
    engine_.Emit(handle, {'b', 'c'});
    RequestFinish finish;
    finish.reason = FinishReason::kLength;
    finish.cached_tokens = 1;
    engine_.Finish(handle, finish);
  }
  static v1::CompleteRequest Detailed() {
    v1::CompleteRequest request = Prompt("hi");
    request.set_echo(true);
    request.set_logprobs(2);
    request.set_request_id("the-id");
    return request;
  }
};

}  // namespace affine
