// No key after a query ever reaches it: beta spreads over the visible keys alone (arXiv 2602.23057
// leaves that to the implementation).
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "model/model_loader.h"
#include "tests/support/tiny_model.h"

namespace affine {
namespace {

// All denominators, scales and gates; N visible and fixed; both activations.
std::vector<nlohmann::json> Family() {
  const auto scale = [](const char* activation, const nlohmann::json& normalizer) {
    return nlohmann::json{{"alpha_activation", activation}, {"normalizer", normalizer}};
  };
  std::vector<nlohmann::json> family;
  for (const char* denominator : {"softmax", "off_by_one", "learned_sink"}) {
    for (const nlohmann::json& affine :
         {nlohmann::json(nullptr), scale("linear_clipping", "visible"), scale("sigmoid", 96)}) {
      for (const char* gate : {"none", "headwise", "elementwise"}) {
        family.push_back({{"denominator", denominator}, {"affine", affine}, {"gate", gate}});
      }
    }
  }
  return family;
}

class CausalityTest : public testing::TestWithParam<size_t> {
 protected:
  CausalityTest() : tiny_(nlohmann::json{{"attention", Family()[GetParam()]}}) {
    LoadOptions options;
    options.path = tiny_.path();
    options.dtype = "float32";
    options.kv_cache_bytes = 4 << 20;
    options.num_threads = 2;
    options.max_batched_tokens = 96;
    model_ = LoadLanguageModel(options);
  }

  // The log-probabilities of tokens 1.. of one prompt, computed in one step.
  std::vector<float> Scores(const std::vector<int32_t>& tokens) {
    std::vector<int32_t> blocks(6);
    std::iota(blocks.begin(), blocks.end(), 0);
    SequenceSlice slice;
    slice.tokens = tokens;
    slice.targets = std::span(tokens).subspan(1);
    slice.block_table = std::span(blocks).first((tokens.size() + 15) / 16);
    slice.sampling = &sampling_;
    std::vector<float> scores;
    for (const ScoredToken& token : model_->Step({{}, std::span(&slice, 1)})[0].scored) {
      scores.push_back(token.log_prob);
    }
    return scores;
  }

  TinyModel tiny_;
  std::unique_ptr<LanguageModel> model_;
  const SamplingParams sampling_{.prompt_top_log_probs = 0};
};

TEST_P(CausalityTest, ChangingLaterTokensNeverChangesEarlierOutputs) {
  std::mt19937 random(GetParam());
  const auto token = [&] { return static_cast<int32_t>(3 + random() % 60); };
  for (int trial = 0; trial < 8; ++trial) {
    const size_t length = 2 + random() % 95, kept = 1 + random() % (length - 1);
    std::vector<int32_t> tokens(length);
    for (int32_t& t : tokens) t = token();
    std::vector<float> before = Scores(tokens);
    for (size_t i = kept; i < length; ++i) tokens[i] = token();
    std::vector<float> after = Scores(tokens);
    const bool differs = after != before;
    // Scores of the kept tokens; that of the first changed one is of another token.
    before.resize(kept - 1);
    after.resize(kept - 1);
    ASSERT_EQ(after, before) << length << " tokens, " << kept << " kept";
    ASSERT_TRUE(differs || length - kept < 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Family, CausalityTest, testing::Range<size_t>(0, Family().size()));

}  // namespace
}  // namespace affine
