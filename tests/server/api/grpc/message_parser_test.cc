#include "server/api/grpc/message_parser.h"

#include <gtest/gtest.h>

#include "affine/v1/completion.pb.h"
#include "tests/server/api/grpc/raw_client.h"

namespace affine {
namespace {

RequestError ErrorOf(const std::string& bytes) {
  v1::CompleteRequest message;
  const auto error = ParseMessage(RawBytes(bytes), message);
  EXPECT_TRUE(error);
  return error.value_or(RequestError{});
}

TEST(MessageParserTest, BytesComeBackAsTheSameMessage) {
  v1::CompleteRequest message;
  message.set_text(std::string(3'000'000, 'x'));
  message.add_stop("\xc3\xa9");
  v1::CompleteRequest read;
  EXPECT_FALSE(ParseMessage(BytesOf(message), read));
  EXPECT_EQ(read.SerializeAsString(), message.SerializeAsString());
}

TEST(MessageParserTest, AnEmptyMessageHasNoBytes) {
  v1::ListModelsRequest message;
  EXPECT_EQ(StringOf(BytesOf(message)), "");
  EXPECT_FALSE(ParseMessage(BytesOf(message), message));
}

TEST(MessageParserTest, TextThatIsNotUtf8IsNamedByItsField) {
  const RequestError model = ErrorOf(TextField(1, "\xff"));
  EXPECT_EQ(model.cause, ErrorCause::kBadInput);
  EXPECT_EQ(model.param, "model");
  EXPECT_EQ(model.message, "`model` is not valid UTF-8; it must be text in UTF-8");
  EXPECT_EQ(ErrorOf(TextField(15, "\xc0\x80")).param, "cache_salt");
}

TEST(MessageParserTest, ThePromptIsNamedAsEverywhere) {
  EXPECT_EQ(ErrorOf(TextField(2, "a\xff")).message,
            "`prompt` is not valid UTF-8; it must be text in UTF-8");
}

TEST(MessageParserTest, ARepeatedFieldIsNamedWithItsPlace) {
  const RequestError error = ErrorOf(TextField(6, "good") + TextField(6, "\xff"));
  EXPECT_EQ(error.param, "stop");
  EXPECT_EQ(error.message, "`stop[1]` is not valid UTF-8; it must be text in UTF-8");
}

TEST(MessageParserTest, WhatIsNoMessageSaysWhichOneItShouldBe) {
  EXPECT_EQ(ErrorOf("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff").message,
            "the request's bytes are not a message of type affine.v1.CompleteRequest; encode it by "
            "that definition");
  const std::string whole = TextField(2, "hello");
  EXPECT_EQ(ErrorOf(whole.substr(0, whole.size() - 1)).cause, ErrorCause::kBadInput);
}

}  // namespace
}  // namespace affine
