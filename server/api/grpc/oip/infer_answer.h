// An answer's chunks as ModelInferResponse messages.
#pragma once

#include <string>

#include "inference/grpc_service.pb.h"
#include "server/api/grpc/oip/infer_request.h"
#include "server/request/completion_call.h"

namespace affine {

/// One thread at a time.
class InferAnswer {
 public:
  InferAnswer() = default;
  /// `whole`: the answer comes in one response, whatever `form` says of a stream.
  InferAnswer(InferForm form, bool whole);
  /// Whether chunks are responses of their own.
  bool in_pieces() const { return form_.stream && !whole_; }
  const InferForm& form() const { return form_; }
  /// Keeps a chunk for the next response.
  void Gather(CompletionChunk chunk);
  /// What was gathered since the last response. `call` is the chunks'.
  inference::ModelInferResponse Take(const CompletionCall& call);

 private:
  void AddOutput(Output output, const CompletionCall& call,
                 inference::ModelInferResponse& response) const;
  std::string TextOf(Output output, const CompletionCall& call) const;

  InferForm form_;
  bool whole_ = true;
  CompletionChunk gathered_;
  double log_prob_ = 0;  // summed over all tokens so far
};

/// A response to a request of a stream that failed with `error`.
inference::ModelStreamInferResponse FailedResponse(const InferForm& form, const std::string& error);

/// The parameter that tells the last of a request's responses.
void SetFinal(bool final, inference::ModelInferResponse& response);

}  // namespace affine
