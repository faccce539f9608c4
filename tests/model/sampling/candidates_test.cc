#include "model/sampling/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace affine {
namespace {

using testing::ElementsAre;

// A row of these probabilities, which are exact as weights of the largest.
class Row {
 public:
  explicit Row(const std::vector<double>& probabilities, float temperature = 1.0f)
      : temperature_(temperature) {
    for (const double p : probabilities) {
      logits_.push_back(static_cast<float>(std::log(p) * temperature));
      max_ = std::max(max_, logits_.back());
    }
    for (const float x : logits_) weights_.push_back(std::exp((x - max_) / temperature));
  }
  WeighedRow view() const { return {logits_.data(), weights_.data(), max_, temperature_}; }
  int32_t vocab_size() const { return static_cast<int32_t>(logits_.size()); }

 private:
  std::vector<float> logits_, weights_;
  float max_ = -1e30f;
  float temperature_;
};

std::vector<int32_t> Kept(const Row& row, void (Candidates::*cut)(const WeighedRow&, float),
                          float value) {
  Candidates candidates(row.vocab_size());
  candidates.TakeAll();
  (candidates.*cut)(row.view(), value);
  return {candidates.ids().begin(), candidates.ids().end()};
}

TEST(CandidatesTest, MinPIsAShareOfTheMostLikelyOne) {
  const Row row({0.1, 0.4, 0.25, 0.05, 0.2});
  EXPECT_THAT(Kept(row, &Candidates::KeepMinP, 0.24f), ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(Kept(row, &Candidates::KeepMinP, 0.26f), ElementsAre(1, 2, 4));
  EXPECT_THAT(Kept(row, &Candidates::KeepMinP, 0.6f), ElementsAre(1, 2));
  EXPECT_THAT(Kept(row, &Candidates::KeepMinP, 1.0f), ElementsAre(1));
  EXPECT_THAT(Kept(Row({0.3, 0.4, 0.3, 0.4}), &Candidates::KeepMinP, 1.0f), ElementsAre(1, 3));
}

TEST(CandidatesTest, TopPIsTheSmallestSetThatReachesIt) {
  const Row row({0.1, 0.4, 0.25, 0.05, 0.2});
  EXPECT_THAT(Kept(row, &Candidates::KeepTopP, 0.39f), ElementsAre(1));
  EXPECT_THAT(Kept(row, &Candidates::KeepTopP, 0.41f), ElementsAre(1, 2));
  EXPECT_THAT(Kept(row, &Candidates::KeepTopP, 0.86f), ElementsAre(1, 2, 4, 0));
  EXPECT_THAT(Kept(row, &Candidates::KeepTopP, 1.0f), ElementsAre(1, 2, 4, 0, 3));
}

// Entropy of 0.5, 0.2, 0.2, 0.1: 1.2206. Information: 0.6931, 1.6094 twice, 2.3026. So the two of
// 0.2 are the most typical (0.3888), then 0.5 (0.5275), then 0.1 (1.0820).
TEST(CandidatesTest, TypicalTokensAreClosestToTheEntropy) {
  for (const float temperature : {1.0f, 0.5f, 3.0f}) {
    const Row row({0.1, 0.2, 0.5, 0.2}, temperature);
    EXPECT_THAT(Kept(row, &Candidates::KeepTypical, 0.05f), ElementsAre(1, 3));  // a tie
    EXPECT_THAT(Kept(row, &Candidates::KeepTypical, 0.39f), ElementsAre(1, 3));
    EXPECT_THAT(Kept(row, &Candidates::KeepTypical, 0.41f), ElementsAre(1, 2, 3));
    EXPECT_THAT(Kept(row, &Candidates::KeepTypical, 0.89f), ElementsAre(1, 2, 3));
    EXPECT_THAT(Kept(row, &Candidates::KeepTypical, 0.91f), ElementsAre(0, 1, 2, 3));
  }
}

TEST(CandidatesTest, TheMostLikelyTokenMayBeUntypical) {
  // Entropy 2.09; information 0.92 of the first, 2.81 of the others: 1.17 and 0.72 from it.
  std::vector<double> probabilities = {0.4};
  for (int i = 0; i < 10; ++i) probabilities.push_back(0.06);
  const std::vector<int32_t> kept = Kept(Row(probabilities), &Candidates::KeepTypical, 0.5f);
  EXPECT_EQ(kept.size(), 10u);
  EXPECT_EQ(kept.front(), 1);
}

TEST(CandidatesTest, ATypicalSetBeyondTheFirstThatAreSortedIsFound) {
  // 5000 tokens of slowly falling probability: the set is what a full sort gives.
  std::vector<double> probabilities;
  for (int i = 0; i < 5000; ++i) probabilities.push_back(std::exp(-i * 1e-4));
  const Row row(probabilities);
  const std::vector<int32_t> kept = Kept(row, &Candidates::KeepTypical, 0.6f);
  const WeighedRow view = row.view();
  double total = 0.0, entropy = 0.0, reached = 0.0;
  for (int i = 0; i < 5000; ++i) total += view.weights[i];
  for (int i = 0; i < 5000; ++i) {
    entropy -= view.weights[i] / total * std::log(view.weights[i] / total);
  }
  std::vector<std::pair<double, int>> order;
  for (int i = 0; i < 5000; ++i) {
    order.emplace_back(std::abs(-std::log(view.weights[i] / total) - entropy), i);
  }
  std::sort(order.begin(), order.end());
  size_t count = 0;
  while (reached < 0.6 * total) reached += view.weights[order[count++].second];
  EXPECT_NEAR(static_cast<double>(kept.size()), static_cast<double>(count), 2.0);
  EXPECT_GT(kept.size(), 2500u);
}

TEST(CandidatesTest, TopKKeepsTiesWithTheLast) {
  const Row row({0.1, 0.2, 0.1, 0.3, 0.3});
  Candidates candidates(5);
  for (const auto& [k, size] : {std::pair(1, 2), {2, 2}, {3, 3}, {4, 5}, {5, 5}, {9, 5}}) {
    candidates.TakeAll();
    candidates.KeepTopK(row.view(), k);
    EXPECT_EQ(candidates.ids().size(), static_cast<size_t>(size)) << k;
  }
}

TEST(CandidatesTest, ACutIsOfWhatTheOneBeforeLeft) {
  // Of 0.4, 0.25 and 0.2 the two best have 0.76: more than 0.7, though of all only 0.65.
  const Row row({0.1, 0.4, 0.25, 0.05, 0.2});
  Candidates candidates(5);
  candidates.TakeAll();
  candidates.KeepMinP(row.view(), 0.4f);
  candidates.KeepTopP(row.view(), 0.7f);
  EXPECT_THAT(candidates.ids(), ElementsAre(1, 2));
}

}  // namespace
}  // namespace affine
