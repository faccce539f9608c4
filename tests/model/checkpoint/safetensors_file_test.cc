#include "model/checkpoint/safetensors_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>

#include "tests/model/checkpoint/checkpoint_builder.h"

namespace affine {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kHeader[] = R"({"t": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})";

std::string OpenError(const std::string& path) {
  return ErrorOf([&] { SafetensorsFile file(path); });
}

TEST(SafetensorsFileTest, GivesTheBytesOfEachTensor) {
  const TempFolder folder;
  const float values[] = {1.5f, -2.0f};
  const std::string_view data(reinterpret_cast<const char*>(values), sizeof values);
  const SafetensorsFile file(folder.Write("w.safetensors", SafetensorsBytes(kHeader, data)));
  const TensorView& tensor = file.tensors().at("t");
  EXPECT_THAT(tensor.shape, ElementsAre(2));
  ASSERT_EQ(tensor.data.size(), sizeof values);
  EXPECT_EQ(std::memcmp(tensor.data.data(), values, sizeof values), 0);
}

TEST(SafetensorsFileTest, ViewsOutliveAMove) {
  const TempFolder folder;
  SafetensorsFile first(folder.Write("w.safetensors", SafetensorsBytes(kHeader, "abcdefgh")));
  const TensorView* view = &first.tensors().at("t");
  const SafetensorsFile second = std::move(first);
  EXPECT_EQ(&second.tensors().at("t"), view);
  EXPECT_EQ(std::to_integer<char>(view->data[7]), 'h');
}

TEST(SafetensorsFileTest, FollowsSymbolicLinks) {
  const TempFolder folder;
  folder.Write("blobs/1", SafetensorsBytes(kHeader, "abcdefgh"));
  std::filesystem::create_symlink("blobs/1", folder.path() + "/w.safetensors");
  EXPECT_EQ(SafetensorsFile(folder.path() + "/w.safetensors").tensors().size(), 1u);
}

TEST(SafetensorsFileTest, RefusesEveryTruncation) {
  const TempFolder folder;
  const std::string whole = SafetensorsBytes(kHeader, "abcdefgh");
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::string path = folder.Write("w.safetensors", whole.substr(0, length));
    EXPECT_THAT(OpenError(path), HasSubstr("w.safetensors")) << length;
  }
}

TEST(SafetensorsFileTest, RefusesHeaderLengthsBeyondTheFileOrTheLimit) {
  const TempFolder folder;
  const std::string huge(8, '\xff');
  EXPECT_THAT(OpenError(folder.Write("w", huge + "{}")),
              AllOf(HasSubstr("18446744073709551615 bytes"), HasSubstr("allowed are 100000000")));
  EXPECT_THAT(OpenError(folder.Write("w", std::string("\x03\0\0\0\0\0\0\0{}", 10))),
              HasSubstr("3 bytes"));
}

TEST(SafetensorsFileTest, RefusesAHeaderAboveTheLimitThatTheFileHolds) {
  const TempFolder folder;
  const uint64_t length = SafetensorsFile::kMaxHeaderBytes + 1;
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  const std::string path = folder.Write("w", bytes);
  std::filesystem::resize_file(path, 8 + length);  // a hole, no disk
  EXPECT_THAT(OpenError(path), HasSubstr("100000001 bytes; allowed are 100000000"));
}

TEST(SafetensorsFileTest, RefusesTrailingBytes) {
  const TempFolder folder;
  EXPECT_THAT(OpenError(folder.Write("w", SafetensorsBytes(kHeader, "abcdefghi"))),
              HasSubstr("bytes 8 to 9"));
}

TEST(SafetensorsFileTest, GathersLayoutFaultsAndThenGivesNoData) {
  const TempFolder folder;
  const std::string path = folder.Write("w", SafetensorsBytes(kHeader, "abc"));
  ProblemList problems;
  const SafetensorsFile file(path, problems);
  EXPECT_FALSE(problems.empty());
  EXPECT_TRUE(file.tensors().at("t").data.empty());
}

TEST(SafetensorsFileTest, RefusesWhatIsNoRegularFile) {
  const TempFolder folder;
  EXPECT_THAT(OpenError(folder.path()), HasSubstr("not a regular file"));
  const std::string pipe = folder.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(OpenError(pipe), HasSubstr("not a regular file"));
  EXPECT_THAT(OpenError(folder.path() + "/none"), HasSubstr("No such file"));
}

}  // namespace
}  // namespace affine
