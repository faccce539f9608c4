#include "tests/support/fake_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <span>

namespace affine {
namespace {

using testing::HasSubstr;

// That the other tests can fail: the fake finds each kind of mistake.
class FakeModelTest : public testing::Test {
 protected:
  SequenceSlice Slice(const std::vector<int32_t>& tokens, int32_t start,
                      const std::vector<int32_t>& table) {
    return {.tokens = tokens,
            .start = start,
            .block_table = table,
            .samples = 1,
            .sampling = &sampling_,
            .targets = {}};
  }
  std::string Fault(const std::vector<SequenceSlice>& slices) {
    try {
      model_.Step({.copies = {}, .slices = slices});
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "";
  }

  const SamplingParams sampling_;
  const std::vector<int32_t> four_ = {1, 2, 3, 4};
  const std::vector<int32_t> one_ = {9};
  const std::vector<int32_t> table0_ = {0};
  const std::vector<int32_t> table01_ = {0, 1};
  const std::vector<int32_t> table21_ = {2, 1};
  FakeModel model_{FakeModelOptions()};
};

TEST_F(FakeModelTest, SlicesGiveWhatTheWholeGives) {
  EXPECT_EQ(Fault({Slice(four_, 0, table0_)}), "");
  EXPECT_EQ(
      model_.Step({.copies = {}, .slices = std::vector{Slice(one_, 4, table01_)}})[0].sampled[0].id,
      model_.Continue({1, 2, 3, 4, 9}, sampling_, 1)[0].id);
}

TEST_F(FakeModelTest, FindsWrongTokensBefore) {
  EXPECT_EQ(Fault({Slice(four_, 0, table0_)}), "");
  SequenceSlice slice = Slice(one_, 4, table01_);
  slice.before = four_;
  EXPECT_EQ(Fault({slice}), "");
  slice.before = std::span(four_).first(3);
  EXPECT_THAT(Fault({slice}), HasSubstr("told of 3 tokens before it"));
  const std::vector<int32_t> other = {1, 2, 7, 4};
  slice.before = other;
  EXPECT_THAT(Fault({slice}), HasSubstr("told of another token at position 2"));
  const SamplingParams reading = {.presence_penalty = 1.0f};
  slice.before = {};
  EXPECT_EQ(Fault({slice}), "");
  slice.sampling = &reading;
  EXPECT_THAT(Fault({slice}), HasSubstr("told of 0 tokens before it"));
}

TEST_F(FakeModelTest, WhereSamplingReadsTokensThePromptsLengthCounts) {
  const SamplingParams reading = {.presence_penalty = 1.0f};
  const std::vector<int32_t> five = {1, 2, 3, 4, 9};
  std::set<int32_t> drawn;
  for (int32_t prompt_length = 1; prompt_length <= 5; ++prompt_length) {
    SequenceSlice slice = Slice(five, 0, table01_);
    slice.sampling = &reading;
    slice.prompt_length = prompt_length;
    drawn.insert(model_.Step({.copies = {}, .slices = std::span(&slice, 1)})[0].sampled[0].id);
  }
  EXPECT_GT(drawn.size(), 1u);
  EXPECT_TRUE(drawn.contains(model_.Continue(five, reading, 1)[0].id));
}

TEST_F(FakeModelTest, FindsMissingWrites) {
  EXPECT_THAT(Fault({Slice(one_, 4, table01_)}), HasSubstr("position 0 reads another history"));
}

TEST_F(FakeModelTest, FindsBlocksOfOtherHistories) {
  const std::vector<int32_t> other = {5, 6, 7, 8, 9, 10, 11, 12};
  EXPECT_EQ(Fault({Slice(four_, 0, table0_)}), "");
  EXPECT_EQ(Fault({Slice(other, 0, table21_)}), "");
  EXPECT_THAT(Fault({Slice(one_, 8, std::vector{0, 1, 3})}),
              HasSubstr("position 4 reads another history"));
}

TEST_F(FakeModelTest, FindsWritesToSharedBlocks) {
  EXPECT_EQ(Fault({Slice(four_, 0, table0_)}), "");
  EXPECT_THAT(Fault({Slice(one_, 4, table01_), Slice(one_, 4, table01_)}),
              HasSubstr("written and shared"));
}

TEST_F(FakeModelTest, FindsTablesOfTheWrongLength) {
  EXPECT_THAT(Fault({Slice(four_, 0, table01_)}), HasSubstr("its block table has 2 blocks"));
  EXPECT_THAT(Fault({Slice(four_, 0, std::vector{77})}), HasSubstr("no such block"));
  EXPECT_THAT(Fault({Slice(one_, 4, std::vector{3, 3})}), HasSubstr("twice"));
}

TEST_F(FakeModelTest, TokensDependOnEverySamplingParameter) {
  const std::vector<std::function<void(SamplingParams&)>> changes = {
      [](SamplingParams& p) { p.seed = 1; }, [](SamplingParams& p) { p.temperature = 0.5f; },
      [](SamplingParams& p) { p.top_k = 3; }, [](SamplingParams& p) { p.top_p = 0.5f; }};
  for (const auto& change : changes) {
    SamplingParams changed;
    change(changed);
    EXPECT_FALSE(model_.Continue({1}, changed, 8) == model_.Continue({1}, sampling_, 8));
  }
}

}  // namespace
}  // namespace affine
