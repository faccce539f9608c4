// Bytes to messages and back, with errors that name the field.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <optional>

#include "server/request/request_error.h"

namespace affine {

/// Reads `bytes` as `message`. kBadInput names a text field that is not UTF-8 (a member of a oneof
/// by the oneof's name), or says that the bytes are no such message. gRPC itself would answer
/// UNIMPLEMENTED without a word, which is why the service takes its requests as bytes.
std::optional<RequestError> ParseMessage(const grpc::ByteBuffer& bytes,
                                         google::protobuf::Message& message);

/// `message` as bytes. Its text fields must be UTF-8.
grpc::ByteBuffer BytesOf(const google::protobuf::Message& message);

}  // namespace affine
