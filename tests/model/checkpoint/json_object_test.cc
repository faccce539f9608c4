#include "model/checkpoint/json_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_error.h"
#include "tests/model/checkpoint/checkpoint_builder.h"

namespace affine {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class ReadJsonFileTest : public testing::Test {
 protected:
  std::string ErrorFor(std::string_view text, size_t limit = 1000) {
    const std::string path = folder_.Write("a.json", text);
    return ErrorOf([&] { ReadJsonFile(path, limit); });
  }
  TempFolder folder_;
};

TEST_F(ReadJsonFileTest, ReadsAnObject) {
  EXPECT_EQ(ReadJsonFile(folder_.Write("a.json", R"({"a": [1, {"b": null}]})"), 100)["a"][0], 1);
}

TEST_F(ReadJsonFileTest, RefusesWhatIsNoJsonObject) {
  EXPECT_THAT(ErrorFor(""), HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorFor("{\"a\": NaN}"), HasSubstr("not valid JSON at byte 7"));
  EXPECT_THAT(ErrorFor("{\"a\": \"\xff\"}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorFor("{} x"), HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorFor("[1]"), HasSubstr("no JSON object"));
  EXPECT_THAT(ErrorFor("{\"a\": 1e999}"), HasSubstr("number"));
}

TEST_F(ReadJsonFileTest, RefusesDeepNestingWithoutUsingTheStack) {
  EXPECT_THAT(ErrorFor("{\"a\":" + std::string(900'000, '['), 1'000'000),
              HasSubstr("nested deeper than 32"));
}

TEST_F(ReadJsonFileTest, RefusesAFieldThatComesTwice) {
  EXPECT_THAT(ErrorFor(R"({"x": {"a": 1}, "y": {"a": 1, "a": 2}})"), HasSubstr("\"a\" twice"));
}

TEST_F(ReadJsonFileTest, RefusesFilesAboveTheLimit) {
  EXPECT_THAT(ErrorFor("{\"abc\": 1}", 9),
              AllOf(HasSubstr("10 bytes"), HasSubstr("allowed are 9")));
}

TEST_F(ReadJsonFileTest, NamesAFileThatIsNotThere) {
  EXPECT_THAT(ErrorOf([&] { ReadJsonFile(folder_.path() + "/none.json", 9); }),
              AllOf(HasSubstr("none.json"), HasSubstr("No such file")));
}

class JsonObjectTest : public testing::Test {
 protected:
  const nlohmann::json document_ = {
      {"int", 5},       {"big", 5'000'000'000},    {"negative", -3}, {"float", 2.5},
      {"text", "red"},  {"null", nullptr},         {"list", {1, 2}}, {"flag", true},
      {"names", {"a"}}, {"object", {{"inner", 1}}}};
  const JsonObject object_{document_, "file.json"};
};

TEST_F(JsonObjectTest, GivesValuesInRange) {
  EXPECT_EQ(object_.Int("int", 5, 5), 5);
  EXPECT_EQ(object_.Int("negative", -3, 0), -3);
  EXPECT_EQ(object_.Number("float", 0, 3), 2.5);
  EXPECT_EQ(object_.Number("int", 0, 5), 5.0);
  EXPECT_TRUE(object_.Bool("flag", false));
  EXPECT_EQ(object_.Choice("text", {"blue", "red"}), 1u);
  EXPECT_THAT(object_.Ints("list", 1, 2), ElementsAre(1, 2));
  EXPECT_THAT(object_.Ints("int", 1, 9), ElementsAre(5));
  EXPECT_THAT(object_.Texts("names"), ElementsAre("a"));
  EXPECT_EQ(object_.Object("object")->Int("inner", 0, 1), 1);
}

TEST_F(JsonObjectTest, TreatsNullAsAbsent) {
  EXPECT_FALSE(object_.Has("null"));
  EXPECT_EQ(object_.Int("null", 1, 2, 7), 7);
  EXPECT_EQ(object_.Choice("null", {"a"}), std::nullopt);
  EXPECT_FALSE(object_.Object("null").has_value());
  EXPECT_TRUE(object_.Ints("absent", 0, 1).empty());
}

TEST_F(JsonObjectTest, NamesFieldValueAndRange) {
  EXPECT_THAT(ErrorOf([&] { object_.Int("int", 6, 9); }),
              HasSubstr("file.json: int is 5. Allowed is a whole number from 6 to 9."));
  EXPECT_THAT(ErrorOf([&] { object_.Int("absent", 6, 9); }), HasSubstr("absent is absent."));
  EXPECT_THAT(ErrorOf([&] { object_.Int("big", 0, 9); }), HasSubstr("5000000000"));
  EXPECT_THAT(ErrorOf([&] { object_.Int("float", 0, 9); }), HasSubstr("float is 2.5"));
  EXPECT_THAT(ErrorOf([&] { object_.Int("text", 0, 9); }), HasSubstr("text is \"red\""));
  EXPECT_THAT(ErrorOf([&] { object_.Number("float", 0, 2); }), HasSubstr("number from 0 to 2"));
  EXPECT_THAT(ErrorOf([&] { object_.Bool("int", true); }), HasSubstr("true or false"));
  EXPECT_THAT(ErrorOf([&] {
                object_.Choice("text", {"a", "b"});
              }),
              HasSubstr("Allowed is one of \"a\", \"b\"."));
  EXPECT_THAT(ErrorOf([&] { object_.Ints("list", 0, 1); }), HasSubstr("a list of 2"));
  EXPECT_THAT(ErrorOf([&] { object_.Texts("list"); }), HasSubstr("list of texts"));
  EXPECT_THAT(ErrorOf([&] { object_.Object("list"); }), HasSubstr("an object or null"));
  EXPECT_THAT(ErrorOf([&] { object_.Object("object")->Int("inner", 2, 3); }),
              HasSubstr("file.json: object: inner is 1"));
}

TEST_F(JsonObjectTest, RefusesUnknownFields) {
  EXPECT_NO_THROW(object_.Object("object")->RequireOnly({"inner", "other"}));
  EXPECT_THAT(ErrorOf([&] {
                object_.Object("object")->RequireOnly({"other", "more"});
              }),
              AllOf(HasSubstr("\"inner\""), HasSubstr("Allowed are other, more")));
}

}  // namespace
}  // namespace affine
