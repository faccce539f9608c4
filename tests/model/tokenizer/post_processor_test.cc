#include "model/tokenizer/post_processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/tokenizer/tiny_tokenizer.h"

namespace affine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kSpecialTokens[] =
    R"("special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]},
                          "<two>": {"id": "<two>", "ids": [7, 8], "tokens": ["<x>", "<y>"]}})";

std::string Template(const std::string& single) {
  return R"({"type": "TemplateProcessing", "single": [)" + single + R"(], "pair": [], )" +
         kSpecialTokens + "}";
}
std::string Special(const std::string& id) {
  return R"({"SpecialToken": {"id": ")" + id + R"(", "type_id": 0}})";
}
std::string Text(const std::string& id = "A") {
  return R"({"Sequence": {"id": ")" + id + R"(", "type_id": 0}})";
}
PostProcessor Make(const std::string& text) { return PostProcessor(Config(text).node()); }
std::string Error(const std::string& text) {
  return ErrorOf([&] { Make(text); });
}

TEST(PostProcessorTest, NullAndByteLevelAddNothing) {
  for (const char* text : {"null", R"({"type": "ByteLevel", "trim_offsets": false})",
                           R"({"type": "Sequence", "processors": []})"}) {
    EXPECT_THAT(Make(text).prefix(), IsEmpty());
    EXPECT_THAT(Make(text).suffix(), IsEmpty());
  }
}

TEST(PostProcessorTest, TheSingleTemplateSurroundsTheText) {
  const PostProcessor processor =
      Make(Template(Special("<s>") + "," + Text() + "," + Special("<two>") + "," + Special("<s>")));
  EXPECT_THAT(processor.prefix(), ElementsAre(1));
  EXPECT_THAT(processor.suffix(), ElementsAre(7, 8, 1));
}

TEST(PostProcessorTest, ASequenceHoldsAtMostOneTemplate) {
  const std::string text = Template(Special("<two>") + "," + Text());
  const std::string byte_level = R"({"type": "ByteLevel"})";
  EXPECT_THAT(
      Make(R"({"type": "Sequence", "processors": [)" + byte_level + "," + text + "]}").prefix(),
      ElementsAre(7, 8));
  EXPECT_THAT(Error(R"({"type": "Sequence", "processors": [)" + text + "," + text + "]}"),
              HasSubstr("processors[1]: a second TemplateProcessing"));
}

TEST(PostProcessorTest, BadTemplatesAreNamed) {
  EXPECT_THAT(Error(Template(Special("<s>"))), HasSubstr("single: lacks the text"));
  EXPECT_THAT(Error(Template(Text() + "," + Text())), HasSubstr("single: has the text"));
  EXPECT_THAT(Error(Template(Text("B"))), HasSubstr("must be \"A\", is \"B\""));
  EXPECT_THAT(Error(Template(Special("<none>") + "," + Text())),
              HasSubstr("special_tokens.<none>: is absent"));
  EXPECT_THAT(Error(Template("{}")), HasSubstr("single[0].SpecialToken"));
  EXPECT_THAT(Error(Template("5")), HasSubstr("single[0]: must be an object, is number"));
  EXPECT_THAT(Error(R"({"type": "TemplateProcessing"})"), HasSubstr("single: must be an array"));
  EXPECT_THAT(
      Error(
          R"({"type": "TemplateProcessing", "special_tokens": {"a": {"ids": [-1]}}, "single": [)" +
          Special("a") + "]}"),
      HasSubstr("special_tokens.a.ids[0]: id -1 is outside 0..2147483646"));
}

TEST(PostProcessorTest, OthersAreRefusedByName) {
  for (const char* type : {"BertProcessing", "RobertaProcessing", "Nonsense"}) {
    EXPECT_THAT(Error(R"({"type": ")" + std::string(type) + R"("})"),
                HasSubstr("post-processor \"" + std::string(type) + "\" is not supported"));
  }
}

}  // namespace
}  // namespace affine
