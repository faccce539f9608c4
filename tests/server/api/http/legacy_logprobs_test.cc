#include "server/api/http/legacy_logprobs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/server/request/byte_tokenizer.h"

namespace affine {
namespace {

using nlohmann::ordered_json;

class LegacyLogProbsTest : public ::testing::Test {
 protected:
  // Ids: bytes 0..255, then 256 "ab", 257 the first two bytes of the euro sign, 258 its last.
  ByteTokenizer tokenizer_{{"ab", "\xe2\x82", "\xac"}};
};

TEST_F(LegacyLogProbsTest, ListsTokensWithTheirAlternatives) {
  LegacyLogProbs list(tokenizer_, true, 2);
  list.AddUnscored('x');
  list.Add({'y', -0.5f, 1, {{'y', -0.5f}, {'z', -1.5f}}});
  list.Add({256, -4.0f, 9, {{'y', -0.25f}, {'z', -2.0f}, {'w', -3.0f}}});
  EXPECT_EQ(list.Take(), ordered_json::parse(R"({
      "tokens": ["x", "y", "ab"], "token_logprobs": [null, -0.5, -4.0],
      "top_logprobs": [null, {"y": -0.5, "z": -1.5}, {"y": -0.25, "z": -2.0, "ab": -4.0}],
      "text_offset": [0, 1, 2]})"));
  EXPECT_TRUE(list.empty());
  list.Add({'q', 0.0f, 1, {}});
  EXPECT_EQ(list.Take()["text_offset"], ordered_json::array({4}));
}

TEST_F(LegacyLogProbsTest, WithoutAlternativesTheirListIsOfNulls) {
  LegacyLogProbs list(tokenizer_, true, 0);
  list.Add({'y', -0.5f, 1, {}});
  EXPECT_EQ(list.Take()["top_logprobs"], ordered_json::array({nullptr}));
}

TEST_F(LegacyLogProbsTest, IdsOfTheCallersChoiceStandAmongTheAlternatives) {
  LegacyLogProbs alone(tokenizer_, true, 0), beside(tokenizer_, true, 1);
  const ScoredToken token = {
      'y', -4.0f, 9, {{'z', -0.25f}}, {{'w', -3.0f}, {'z', -0.25f}, {256, -5.0f}}};
  alone.Add(token);
  beside.Add(token);
  EXPECT_EQ(alone.Take()["top_logprobs"],
            ordered_json::parse(R"([{"y": -4.0, "w": -3.0, "z": -0.25, "ab": -5.0}])"));
  EXPECT_EQ(beside.Take()["top_logprobs"],
            ordered_json::parse(R"([{"z": -0.25, "y": -4.0, "w": -3.0, "ab": -5.0}])"));
}

TEST_F(LegacyLogProbsTest, TokensThatShareACharacterShowTheirBytesAndItsPlace) {
  LegacyLogProbs list(tokenizer_, true, 0);
  for (const int32_t id : {int32_t{'a'}, 257, 258, int32_t{'b'}, 0xff, int32_t{'c'}}) {
    list.Add({id, 0.0f, 1, {}});
  }
  const ordered_json taken = list.Take();
  EXPECT_EQ(taken["tokens"],
            ordered_json::array({"a", "bytes:\\xe2\\x82", "bytes:\\xac", "b", "bytes:\\xff", "c"}));
  EXPECT_EQ(taken["text_offset"], ordered_json::array({0, 1, 1, 2, 3, 4}));
}

TEST_F(LegacyLogProbsTest, SpecialTokensTakeNoPlaceWhereTheyAreLeftOut) {
  const int32_t bos = tokenizer_.first_special();
  LegacyLogProbs without(tokenizer_, true, 0);
  LegacyLogProbs with(tokenizer_, false, 0);
  for (LegacyLogProbs* list : {&without, &with}) {
    list->AddUnscored(bos);
    list->Add({'a', 0.0f, 1, {}});
  }
  EXPECT_EQ(without.Take()["text_offset"], ordered_json::array({0, 0}));
  const ordered_json taken = with.Take();
  EXPECT_EQ(taken["text_offset"], ordered_json::array({0, 5}));
  EXPECT_EQ(taken["tokens"], ordered_json::array({"<bos>", "a"}));
}

TEST_F(LegacyLogProbsTest, AnImpossibleTokenAndAnIdWithoutTextCanBeShown) {
  LegacyLogProbs list(tokenizer_, true, 0);
  list.Add({100'000, -INFINITY, 1, {}});
  const ordered_json taken = list.Take();
  EXPECT_EQ(taken["tokens"], ordered_json::array({"token_id:100000"}));
  EXPECT_EQ(taken["token_logprobs"], ordered_json::array({-9999.0}));
}

TEST_F(LegacyLogProbsTest, PromptLogProbsStandByIdWithTheirRanks) {
  const std::vector<ScoredToken> scored = {{'b', -2.0f, 7, {{'a', -0.5f}, {'c', -1.0f}}}};
  EXPECT_EQ(PromptLogProbs(tokenizer_, scored), ordered_json::parse(R"([null, {
      "98": {"logprob": -2.0, "rank": 7, "decoded_token": "b"},
      "97": {"logprob": -0.5, "rank": 1, "decoded_token": "a"},
      "99": {"logprob": -1.0, "rank": 2, "decoded_token": "c"}}])"));
}

}  // namespace
}  // namespace affine
