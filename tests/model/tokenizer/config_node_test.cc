#include "model/tokenizer/config_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/tokenizer/tiny_tokenizer.h"

namespace affine {
namespace {

using testing::HasSubstr;

TEST(ConfigNodeTest, ErrorsNameFileKeyAndKind) {
  const Config config(R"({"a": {"b": [true, "x", 7]}})");
  const ConfigNode list = config.node().Member("a").Member("b");
  EXPECT_TRUE(list.Elements()[0].Bool());
  EXPECT_EQ(list.Elements()[1].String(), "x");
  EXPECT_EQ(list.Elements()[2].TokenId(), 7);
  EXPECT_EQ(ErrorOf([&] { list.Elements()[1].Bool(); }),
            "tokenizer.json: a.b[1]: must be true or false, is string");
  EXPECT_EQ(ErrorOf([&] { list.Elements()[2].String(); }),
            "tokenizer.json: a.b[2]: must be a string, is number");
  EXPECT_EQ(ErrorOf([&] { list.Elements()[1].TokenId(); }),
            "tokenizer.json: a.b[1]: must be an integer, is string");
  EXPECT_EQ(ErrorOf([&] { list.Member("c"); }), "tokenizer.json: a.b: must be an object, is array");
  EXPECT_EQ(ErrorOf([&] { config.node().Elements(); }),
            "tokenizer.json: top level: must be an array, is object");
  EXPECT_EQ(ErrorOf([&] { config.node().Member("z").Member("y"); }),
            "tokenizer.json: z: must be an object, is absent");
  EXPECT_EQ(ErrorOf([&] { list.Refuse("no"); }), "tokenizer.json: a.b: no");
}

TEST(ConfigNodeTest, AbsentAndNullAreTheSame) {
  const Config config(R"({"null": null, "zero": 0, "empty": ""})");
  EXPECT_TRUE(config.node().Member("null").IsNull());
  EXPECT_TRUE(config.node().Member("absent").IsNull());
  EXPECT_FALSE(config.node().Member("zero").IsNull());
  EXPECT_TRUE(config.node().Member("absent").BoolOr(true));
  EXPECT_EQ(config.node().Members().size(), 3u);
}

TEST(ConfigNodeTest, LongKeysAreShortenedInErrors) {
  const Config config("{}");
  const ConfigNode node = config.node().Member(std::string(1 << 20, 'k'));
  EXPECT_LT(ErrorOf([&] { node.Bool(); }).size(), 200u);
}

}  // namespace
}  // namespace affine
