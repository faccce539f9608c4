// Between affine.v1's messages and the request room's types.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <optional>
#include <variant>

#include "affine/v1/completion.pb.h"
#include "server/request/completion_call.h"
#include "server/request/completion_params.h"
#include "server/request/served_models.h"

namespace affine {

/// The parameters that `request` carries; the caller adds what the RPC says (arrival, deadline, an
/// id from metadata). kBadInput if there is no prompt at all.
std::variant<CompletionParams, RequestError> ParamsOf(v1::CompleteRequest request);

/// The same from a CompleteRequest's bytes; `request_id` is set also where the rest is wrong.
std::optional<RequestError> ReadCompleteRequest(const grpc::ByteBuffer& bytes,
                                                CompletionParams& params);

/// A message of the stream. `first` adds what comes once: the model's name and the prompt's ids.
v1::CompleteChunk ChunkMessage(const CompletionChunk& chunk, const CompletionCall& call,
                               bool first);

/// Adds a chunk to the unary answer; the first one brings the model's name and the prompt's ids.
void AppendChunk(const CompletionChunk& chunk, const CompletionCall& call,
                 v1::CompleteResponse& response);

v1::ModelDescription DescriptionOf(const ServedModel& model, const std::string& server_version);

/// Ids and each token alone.
v1::TokenizeResponse TokensMessage(const ServedModel& model, const std::vector<int32_t>& ids);

}  // namespace affine
