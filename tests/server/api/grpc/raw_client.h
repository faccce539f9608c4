// Calls with messages as bytes, for services whose generated code is not at hand and for messages
// that generated code would not send.
#pragma once

#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>
#include <string>
#include <vector>

namespace affine {

using RawStream = grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

inline grpc::ByteBuffer RawBytes(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

inline std::string StringOf(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!bytes.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

/// A message with one field that is text (or any other length-delimited value).
inline std::string TextField(int number, const std::string& value) {
  google::protobuf::UnknownFieldSet fields;
  fields.AddLengthDelimited(number, value);
  std::string bytes;
  fields.SerializeToString(&bytes);
  return bytes;
}

/// The length-delimited values of field `number` in a message.
inline std::vector<std::string> TextsIn(const std::string& bytes, int number) {
  google::protobuf::UnknownFieldSet fields;
  std::vector<std::string> texts;
  if (!fields.ParseFromString(bytes)) return texts;
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    const bool text = field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED;
    if (text && field.number() == number) texts.push_back(field.length_delimited());
  }
  return texts;
}

/// The one number in a message; 0 if there is not exactly one field and that a number.
inline uint64_t NumberIn(const std::string& bytes) {
  google::protobuf::UnknownFieldSet fields;
  if (!fields.ParseFromString(bytes) || fields.field_count() != 1) return 0;
  const google::protobuf::UnknownField& field = fields.field(0);
  return field.type() == google::protobuf::UnknownField::TYPE_VARINT ? field.varint() : 0;
}

inline grpc::Status RawUnaryCall(grpc::Channel& channel, const char* method,
                                 const std::string& request, std::string& response,
                                 grpc::ClientContext& context) {
  const grpc::internal::RpcMethod rpc(method, grpc::internal::RpcMethod::NORMAL_RPC);
  grpc::ByteBuffer answer;
  const grpc::ByteBuffer question = RawBytes(request);
  grpc::Status status = grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
      &channel, rpc, &context, question, &answer);
  if (status.ok()) response = StringOf(answer);
  return status;
}

inline std::unique_ptr<RawStream> RawStreamCall(grpc::Channel& channel, const char* method,
                                                grpc::ClientContext& context) {
  const grpc::internal::RpcMethod rpc(method, grpc::internal::RpcMethod::BIDI_STREAMING);
  return std::unique_ptr<RawStream>(
      grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(
          &channel, rpc, &context));
}

}  // namespace affine
