#include "server/api/http/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace affine {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ErrorOf(std::string_view text) {
  const auto parsed = ParseJsonObject(text);
  const auto* error = std::get_if<RequestError>(&parsed);
  if (error == nullptr) return "none";
  EXPECT_EQ(error->cause, ErrorCause::kBadInput);
  return error->message;
}

std::string Nested(int depth) {
  return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
}

TEST(JsonTextTest, ReadsAnObject) {
  const auto parsed = ParseJsonObject(R"( {"a": [1, 2.5, "x\u00e9", null, true]} )");
  EXPECT_EQ(std::get<json>(parsed), (json{{"a", {1, 2.5, "x\xc3\xa9", nullptr, true}}}));
}

TEST(JsonTextTest, SaysWhereBrokenJsonBreaks) {
  EXPECT_THAT(ErrorOf("{\"a\": 1,\n  oops}"), HasSubstr("not valid JSON: parse error at line 2"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("unexpected end of input"));
  EXPECT_THAT(ErrorOf("{} {}"), HasSubstr("column 4"));
}

TEST(JsonTextTest, RefusesWhatJsonDoesNotHave) {
  for (const char* text :
       {"{\"t\": NaN}", "{\"t\": Infinity}", "{\"t\": -Infinity}", "{\"t\": nan}", "{\"t\": 01}",
        "{\"t\": 1e999}", "{'t': 1}", "{\"t\": 1,}", "{\"t\": \"\\ud800\"}", "{\"t\": \"\n\"}"}) {
    EXPECT_THAT(ErrorOf(text), HasSubstr("not valid JSON")) << text;
  }
}

TEST(JsonTextTest, RefusesIllFormedUtf8AndSaysSoInWellFormedUtf8) {
  for (const char* text : {"{\"p\": \"\xff\"}", "{\"p\": \"\xc0\xaf\"}",
                           "{\"p\": \"\xed\xa0\x80\"}", "{\"p\xe2\x82\": 1}", "\xff"}) {
    const std::string message = ErrorOf(text);
    EXPECT_THAT(message, HasSubstr("not valid JSON"));
    EXPECT_NO_THROW(json(message).dump());
  }
}

TEST(JsonTextTest, NamesWhatIsThereInsteadOfAnObject) {
  EXPECT_EQ(ErrorOf("[1]"), "the body is [1]; it must be a JSON object");
  EXPECT_EQ(ErrorOf("\"x\""), "the body is \"x\"; it must be a JSON object");
}

TEST(JsonTextTest, ForTheLogNothingIsRepeated) {
  const auto logged = [](std::string_view text) {
    const auto parsed = ParseJsonObject(text);
    return std::get<RequestError>(parsed).MessageForLog();
  };
  EXPECT_EQ(logged(R"({"prompt": "a" secret})"),
            "the body is not valid JSON: it breaks at byte 16 of 22");
  EXPECT_EQ(logged(R"({"prompt": 1234567e9999})"), "the body is not valid JSON");
  EXPECT_EQ(logged("\"secret\""), "the body is a string of 6 bytes; it must be a JSON object");
}

TEST(JsonTextTest, NamesTheKindOfAValue) {
  EXPECT_EQ(JsonKind(nullptr), "null");
  EXPECT_EQ(JsonKind(true), "a boolean");
  for (const json& number : {json(1), json(-1), json(0.5)}) EXPECT_EQ(JsonKind(number), "a number");
  EXPECT_EQ(JsonKind("abc"), "a string of 3 bytes");
  EXPECT_EQ(JsonKind(json::array({1, 2})), "an array of 2 values");
  EXPECT_EQ(JsonKind({{"a", 1}}), "an object of 1 members");
}

TEST(JsonTextTest, BoundsTheDepth) {
  EXPECT_EQ(ErrorOf(Nested(kMaxJsonDepth)), "none");
  EXPECT_THAT(ErrorOf(Nested(kMaxJsonDepth + 1)),
              HasSubstr("nested deeper than 32 levels at byte"));
  EXPECT_THAT(ErrorOf(std::string(10'000'000, '[')), HasSubstr("nested deeper"));
  EXPECT_EQ(ErrorOf("{\"a\": \"" + std::string(100, '[') + "\\\"" + std::string(100, '{') + "\"}"),
            "none");
}

TEST(JsonTextTest, BoundsTheNumberOfValues) {
  std::string text = "{\"a\":[0";
  for (int64_t i = 0; i < kMaxJsonValues; ++i) text += ",0";
  EXPECT_THAT(ErrorOf(text + "]}"), HasSubstr("values; at most 2000000 are taken"));
}

TEST(JsonTextTest, KeepsMessagesShortWhateverTheInput) {
  EXPECT_LT(ErrorOf("{\"" + std::string(1'000'000, 'a')).size(), 400u);
  EXPECT_LT(JsonExcerpt(json(std::string(1'000'000, 'a'))).size(), 70u);
  EXPECT_EQ(JsonExcerpt(json(std::vector<int>(9, 1))), "an array of 9 values");
  // The cut does not split a character.
  EXPECT_EQ(JsonExcerpt(json("aa\xe2\x82\xac"), 4), "\"aa...\"");
}

TEST(JsonTextTest, WritesWellFormedUtf8Whatever) {
  EXPECT_EQ(JsonText({{"t",
                       "a\xff"
                       "b"}}),
            "{\"t\":\"a\xef\xbf\xbd"
            "b\"}");
}

}  // namespace
}  // namespace affine
