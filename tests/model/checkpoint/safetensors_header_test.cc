#include "model/checkpoint/safetensors_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/checkpoint/checkpoint_builder.h"

namespace affine {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string ParseError(const std::string& json) {
  return ErrorOf([&] { ParseSafetensorsHeader(json, "w.safetensors"); });
}

/// The header of one tensor "t" with that dtype, shape and offsets.
std::string One(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"t": {"dtype": )" + dtype + R"(, "shape": )" + shape + R"(, "data_offsets": )" +
         offsets + "}}";
}

TEST(ParseSafetensorsHeaderTest, ReadsEntriesAndSkipsMetadata) {
  const auto entries = ParseSafetensorsHeader(
      R"({"__metadata__": {"format": "pt", "note": "x"},
          "a": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]},
          "b": {"data_offsets": [12, 16], "shape": [], "dtype": "F32"}}  )",
      "w.safetensors");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_EQ(entries[0].dtype, TensorDtype::kBFloat16);
  EXPECT_THAT(entries[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(entries[0].end, 12u);
  EXPECT_EQ(entries[1].dtype, TensorDtype::kFloat32);
  EXPECT_THAT(entries[1].shape, IsEmpty());
}

TEST(ParseSafetensorsHeaderTest, NamesAnUnknownDtype) {
  EXPECT_THAT(ParseError(One("\"I64\"", "[1]", "[0, 8]")),
              AllOf(HasSubstr("w.safetensors"), HasSubstr("\"t\" has dtype \"I64\""),
                    HasSubstr("F32, BF16, F16")));
}

TEST(ParseSafetensorsHeaderTest, RefusesNumbersThatAreNoCounts) {
  EXPECT_THAT(ParseError(One("\"F32\"", "[-1]", "[0, 4]")), HasSubstr("the number -1"));
  EXPECT_THAT(ParseError(One("\"F32\"", "[1]", "[-4, 0]")), HasSubstr("the number -4"));
  EXPECT_THAT(ParseError(One("\"F32\"", "[1.0]", "[0, 4]")), HasSubstr("\"1.0\""));
  EXPECT_THAT(ParseError(One("\"F32\"", "[1e2]", "[0, 4]")), HasSubstr("\"1e2\""));
  EXPECT_THAT(ParseError(One("\"F32\"", "[99999999999999999999]", "[0, 4]")),
              HasSubstr("\"99999999999999999999\""));
  EXPECT_THAT(ParseError(One("\"F32\"", "[18446744073709551615]", "[0, 4]")), HasSubstr("above"));
  EXPECT_THAT(ParseError(One("\"F32\"", "[1e999]", "[0, 4]")), HasSubstr("not JSON"));
  EXPECT_THAT(ParseError(One("\"F32\"", "[NaN]", "[0, 4]")), HasSubstr("not JSON"));
}

TEST(ParseSafetensorsHeaderTest, RefusesAnotherForm) {
  for (const char* json :
       {"[]", "1", "\"x\"", "null", R"({"t": 1})", R"({"t": null})", R"({"t": []})",
        R"({"__metadata__": {"a": 1}})", R"({"__metadata__": {"a": {}}})", R"({"__metadata__": 3})",
        R"({"t": {"dtype": 1, "shape": [], "data_offsets": [0, 0]}})",
        R"({"t": {"dtype": "F32", "shape": 4, "data_offsets": [0, 0]}})",
        R"({"t": {"dtype": "F32", "shape": [[1]], "data_offsets": [0, 0]}})",
        R"({"t": {"dtype": "F32", "shape": [true], "data_offsets": [0, 0]}})",
        R"({"t": {"dtype": ["F32"], "shape": [], "data_offsets": [0, 0]}})"}) {
    EXPECT_THAT(ParseError(json), HasSubstr("can't stand")) << json;
  }
}

TEST(ParseSafetensorsHeaderTest, RefusesMissingUnknownAndRepeatedFields) {
  EXPECT_THAT(ParseError(R"({"t": {"dtype": "F32", "shape": []}})"),
              HasSubstr("\"t\" lacks one of"));
  EXPECT_THAT(ParseError(One("\"F32\"", "[]", "[0]")), HasSubstr("\"t\" lacks one of"));
  EXPECT_THAT(ParseError(One("\"F32\"", "[]", "[0, 4, 8]")), HasSubstr("more than two"));
  EXPECT_THAT(ParseError(R"({"t": {"strides": [1]}})"), HasSubstr("the field \"strides\""));
  EXPECT_THAT(ParseError(R"({"t": {"dtype": "F32", "dtype": "F16"}})"),
              HasSubstr("\"dtype\" twice"));
  const std::string entry = R"("t": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]})";
  EXPECT_THAT(ParseError("{" + entry + ", " + entry + "}"), HasSubstr("\"t\" comes twice"));
}

TEST(ParseSafetensorsHeaderTest, RefusesTooManyDimensionsAndLongNames) {
  EXPECT_THAT(ParseError(One("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0, 4]")),
              HasSubstr("more than 8 dimensions"));
  EXPECT_THAT(ParseError("{\"" + std::string(1025, 'n') + "\": {}}"), HasSubstr("too long"));
}

TEST(ParseSafetensorsHeaderTest, StopsAtDeepNesting) {
  EXPECT_THAT(ParseError(std::string(1'000'000, '[')), HasSubstr("can't stand"));
  std::string deep = "{\"t\":";
  for (int i = 0; i < 100'000; ++i) deep += "{\"shape\":";
  EXPECT_THAT(ParseError(deep), HasSubstr("an object where that can't stand"));
}

TEST(ParseSafetensorsHeaderTest, RefusesCutJson) {
  const std::string whole = One("\"F32\"", "[1]", "[0, 4]");
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(ParseError(whole.substr(0, length)), HasSubstr("not JSON at byte")) << length;
  }
}

class LayoutTest : public testing::Test {
 protected:
  std::string LayoutError(std::vector<TensorEntry> entries, uint64_t data_bytes) {
    ProblemList problems;
    EXPECT_FALSE(CheckSafetensorsLayout(entries, data_bytes, "w", problems));
    return ErrorOf([&] { problems.ThrowIfAny("faults:", "remedy"); });
  }
  static TensorEntry Floats(const std::string& name, uint64_t begin, uint64_t end) {
    return {name, TensorDtype::kFloat32, {static_cast<int64_t>(end - begin) / 4}, begin, end};
  }
};

TEST_F(LayoutTest, AcceptsTensorsThatCoverTheDataInAnyOrder) {
  ProblemList problems;
  std::vector<TensorEntry> entries = {Floats("b", 8, 16), Floats("none", 8, 8), Floats("a", 0, 8)};
  EXPECT_TRUE(CheckSafetensorsLayout(entries, 16, "w", problems));
  EXPECT_TRUE(problems.empty());
}

TEST_F(LayoutTest, NamesBothOfAnOverlap) {
  EXPECT_THAT(LayoutError({Floats("a", 0, 8), Floats("b", 4, 12)}, 12),
              HasSubstr("overlapping: \"b\" at bytes 4 to 12 of w with \"a\" at bytes 0 to 8"));
  EXPECT_THAT(LayoutError({Floats("a", 0, 12), Floats("b", 4, 8)}, 12), HasSubstr("overlapping"));
  EXPECT_THAT(LayoutError({Floats("a", 0, 8), Floats("b", 0, 8)}, 8), HasSubstr("overlapping"));
}

TEST_F(LayoutTest, RefusesHoles) {
  EXPECT_THAT(LayoutError({Floats("a", 4, 8)}, 8), HasSubstr("bytes 0 to 4 of w"));
  EXPECT_THAT(LayoutError({Floats("a", 0, 4), Floats("b", 8, 12)}, 12), HasSubstr("bytes 4 to 8"));
  EXPECT_THAT(LayoutError({Floats("a", 0, 4)}, 8), HasSubstr("bytes 4 to 8"));
  EXPECT_THAT(LayoutError({}, 8), HasSubstr("bytes 0 to 8"));
}

TEST_F(LayoutTest, RefusesBytesOutsideTheFile) {
  EXPECT_THAT(LayoutError({Floats("a", 0, 12)}, 8),
              HasSubstr("outside the file: \"a\" at bytes 0 to 12 of w, which has 8 bytes"));
  EXPECT_THAT(LayoutError({{"a", TensorDtype::kFloat32, {1}, 8, 4}}, 8), HasSubstr("outside"));
}

TEST_F(LayoutTest, ComparesSizesWithShapes) {
  EXPECT_THAT(LayoutError({{"a", TensorDtype::kBFloat16, {2, 2}, 0, 16}}, 16),
              HasSubstr("wrong size: \"a\" at bytes 0 to 16 of w; BF16 of shape [2, 2] takes 8"));
}

TEST_F(LayoutTest, SurvivesShapesWhoseProductOverflows) {
  constexpr int64_t kHuge = int64_t{1} << 32;
  EXPECT_THAT(LayoutError({{"a", TensorDtype::kFloat32, {kHuge, kHuge}, 0, 0}}, 0),
              HasSubstr("takes more than 2^63 bytes"));
  EXPECT_THAT(LayoutError({{"a", TensorDtype::kFloat32, {INT64_MAX, 2, 4}, 0, 8}}, 8),
              HasSubstr("takes more than 2^63 bytes"));
}

}  // namespace
}  // namespace affine
