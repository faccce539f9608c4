#include "server/api/grpc/message_parser.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <algorithm>
#include <map>
#include <string>

#include "model/utf8.h"

namespace affine {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

RequestError NotUtf8(const FieldDescriptor& field, int index) {
  const auto* oneof = field.real_containing_oneof();
  const std::string param = oneof != nullptr ? oneof->name() : field.name();
  std::string place;
  if (field.is_repeated()) place.append("[").append(std::to_string(index)).append("]");
  return {ErrorCause::kBadInput,
          "`" + param + place + "` is not valid UTF-8; it must be text in UTF-8", param};
}

/// Why `bytes`, which could not be parsed as `type`, could not.
RequestError Diagnose(grpc::ByteBuffer bytes, const Descriptor& type) {
  UnknownFieldSet fields;
  grpc::ProtoBufferReader reader(&bytes);
  if (fields.ParseFromZeroCopyStream(&reader)) {
    std::map<int, int> seen;  // by field number
    for (int i = 0; i < fields.field_count(); ++i) {
      const UnknownField& value = fields.field(i);
      if (value.type() != UnknownField::TYPE_LENGTH_DELIMITED) continue;
      const FieldDescriptor* field = type.FindFieldByNumber(value.number());
      if (field == nullptr || field->type() != FieldDescriptor::TYPE_STRING) continue;
      const int index = seen[value.number()]++;
      if (!IsValidUtf8(value.length_delimited())) return NotUtf8(*field, index);
    }
  }
  return {ErrorCause::kBadInput,
          "the request's bytes are not a message of type " + type.full_name() +
              "; encode it by that definition",
          ""};
}

}  // namespace

std::optional<RequestError> ParseMessage(const grpc::ByteBuffer& bytes,
                                         google::protobuf::Message& message) {
  grpc::ByteBuffer copy(bytes);  // shares the bytes
  grpc::ProtoBufferReader reader(&copy);
  if (reader.status().ok() && message.ParseFromZeroCopyStream(&reader)) return std::nullopt;
  return Diagnose(bytes, *message.GetDescriptor());
}

grpc::ByteBuffer BytesOf(const google::protobuf::Message& message) {
  const int size = static_cast<int>(message.ByteSizeLong());
  if (size == 0) {
    const grpc::Slice nothing;
    return {&nothing, 1};
  }
  constexpr int kMostInOneSlice = 1 << 20;  // bytes
  grpc::ByteBuffer bytes;
  {
    grpc::ProtoBufferWriter writer(&bytes, std::min(size, kMostInOneSlice), size);
    message.SerializeToZeroCopyStream(&writer);
  }
  return bytes;
}

}  // namespace affine
