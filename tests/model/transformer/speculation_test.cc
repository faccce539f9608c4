#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <tuple>

#include "model/model_loader.h"
#include "tests/support/tiny_model.h"

namespace affine {
namespace {

constexpr int32_t kSteps = 90;  // crosses several tiles and blocks

const SamplingParams kPlain = {.temperature = 0.9f, .seed = 7, .top_log_probs = 2};

// What is drawn depends on all tokens before, and on which of them are the prompt's.
SamplingParams ReadingTokens() {
  SamplingParams sampling = kPlain;
  sampling.top_p = 0.95f;
  sampling.repetition_penalty = 1.2f;
  sampling.frequency_penalty = 0.3f;
  sampling.presence_penalty = -0.2f;
  for (int32_t id = 0; id < 64; id += 3) sampling.bad_words.push_back({id, (id * 7 + 1) % 64});
  sampling.min_tokens = 40;
  sampling.held_back_ids = {3, 4, 5};
  return sampling;
}

// A sequence that grows by what is sampled and, between, computes guesses that are taken back.
class Growing {
 public:
  Growing(LanguageModel& model, int32_t first_block, const SamplingParams& sampling = kPlain)
      : model_(model), blocks_(16), sampling_(sampling) {
    std::iota(blocks_.rbegin(), blocks_.rend(), first_block);
  }

  void Prefill(std::vector<int32_t> prompt) {
    tokens_ = std::move(prompt);
    prompt_length_ = static_cast<int32_t>(tokens_.size());
    Take(Step({tokens_, 0}, 1), {});
  }

  // One step with these guesses after the newest token; returns how many came true.
  int Decode(const std::vector<int32_t>& guesses) {
    std::vector<int32_t> slice = {tokens_.back()};
    slice.insert(slice.end(), guesses.begin(), guesses.end());
    const auto start = static_cast<int32_t>(tokens_.size()) - 1;
    return Take(Step({slice, start}, static_cast<int32_t>(slice.size())), guesses);
  }

  const std::vector<int32_t>& tokens() const { return tokens_; }
  // Everything that was said of every token: bits.
  const std::vector<float>& numbers() const { return numbers_; }

 private:
  struct Part {
    std::span<const int32_t> tokens;
    int32_t start;
  };
  SliceResult Step(Part part, int32_t samples) {
    SequenceSlice slice;
    slice.tokens = part.tokens;
    slice.start = part.start;
    slice.block_table = blocks_;
    slice.samples = samples;
    slice.sampling = &sampling_;
    slice.before = std::span(tokens_).first(part.start);
    slice.prompt_length = prompt_length_;
    return model_.Step({.copies = {}, .slices = std::span(&slice, 1)})[0];
  }

  int Take(const SliceResult& result, const std::vector<int32_t>& guesses) {
    EXPECT_TRUE(result.finite);
    EXPECT_EQ(result.sampled.size(), guesses.size() + 1);
    int taken = 0;
    for (const ScoredToken& token : result.sampled) {
      tokens_.push_back(token.id);
      numbers_.insert(numbers_.end(), {static_cast<float>(token.id), token.log_prob});
      for (const auto& [id, log_prob] : token.top) numbers_.push_back(log_prob);
      if (static_cast<size_t>(taken) == guesses.size() || guesses[taken] != token.id) break;
      ++taken;
    }
    return taken;
  }

  LanguageModel& model_;
  std::vector<int32_t> blocks_;
  SamplingParams sampling_;
  int32_t prompt_length_ = 0;
  std::vector<int32_t> tokens_;
  std::vector<float> numbers_;
};

using Case = std::tuple<const char*, bool>;  // dtype, affine

class SpeculationTest : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<LanguageModel> Load(int32_t block_size) const {
    LoadOptions options;
    options.path = tiny_.path();
    options.dtype = std::get<0>(GetParam());
    options.kv_cache_bytes = 8 << 20;
    options.num_threads = 2;
    options.block_size = block_size;
    options.max_batched_tokens = 256;
    return LoadLanguageModel(options);
  }

  // Right guesses, wrong ones, and right ones that wrong ones follow, over the borders of tiles and
  // blocks in both directions: what a step computes after a guess that failed must leave no trace.
  void ExpectSameBits(int32_t block_size, const SamplingParams& sampling) const {
    const auto model = Load(block_size);
    Growing plain(*model, 0, sampling);
    plain.Prefill(prompt_);
    for (int32_t i = 0; i < kSteps; ++i) plain.Decode({});
    const std::vector<int32_t>& truth = plain.tokens();
    std::mt19937 random(3);
    for (int round = 0; round < 6; ++round) {
      Growing guessed(*model, 16, sampling);
      guessed.Prefill(prompt_);
      int kept = 0, taken_back = 0;
      while (guessed.tokens().size() + 21 < truth.size()) {
        const size_t right = random() % 6, wrong = random() % 16;
        std::vector<int32_t> guesses;
        for (size_t i = 0; i < right + wrong; ++i) {
          const int32_t next = truth[guessed.tokens().size() + i];
          guesses.push_back(i < right ? next
                                      : (next + 1 + static_cast<int32_t>(random() % 60)) % 64);
        }
        ASSERT_EQ(guessed.Decode(guesses), static_cast<int>(right));
        kept += static_cast<int>(right);
        taken_back += static_cast<int>(wrong);
      }
      EXPECT_GT(kept, 20);
      EXPECT_GT(taken_back, 80);
      const std::vector<float> expected(plain.numbers().begin(),
                                        plain.numbers().begin() + guessed.numbers().size());
      EXPECT_EQ(guessed.numbers(), expected);
    }
  }

  static nlohmann::json Config(bool affine) {
    nlohmann::json config = {{"tie_word_embeddings", false}};
    if (affine) {
      config["attention"] = {
          {"denominator", "off_by_one"},
          {"affine", {{"alpha_activation", "sigmoid"}, {"normalizer", "visible"}}},
          {"gate", "none"}};
    }
    return config;
  }

  TinyModel tiny_{Config(std::get<1>(GetParam()))};
  const std::vector<int32_t> prompt_ = {5, 9, 33, 12, 41, 8, 20, 7, 50, 11, 3, 60, 14};
};

TEST_P(SpeculationTest, GuessesKeptAndTakenBackGiveTheBitsOfGoingTokenByToken) {
  for (const int32_t block_size : {16, 48}) ExpectSameBits(block_size, kPlain);
}

TEST_P(SpeculationTest, AndSoTheyDoWhereWhatIsDrawnDependsOnTheTokensBefore) {
  ExpectSameBits(16, ReadingTokens());
}

TEST_P(SpeculationTest, AGuessThatIsNotFiniteIsToldAndAFreshStartInTheSameBlocksIsRight) {
  const auto sound = Load(16);
  Growing plain(*sound, 0);
  plain.Prefill(prompt_);
  for (int i = 0; i < 10; ++i) plain.Decode({});
  int32_t broken = 1;  // a token that does not come
  while (std::ranges::find(plain.tokens(), broken) != plain.tokens().end()) ++broken;
  tiny_.BreakEmbedding(broken);
  const auto model = Load(16);
  std::vector<int32_t> blocks(16);
  std::iota(blocks.begin(), blocks.end(), 0);
  SamplingParams sampling;
  std::vector<int32_t> tokens = prompt_;
  tokens.insert(tokens.end(), {2, broken, 4});
  SequenceSlice slice;
  slice.tokens = tokens;
  slice.block_table = blocks;
  slice.samples = 4;
  slice.sampling = &sampling;
  const SliceResult result = model->Step({.copies = {}, .slices = std::span(&slice, 1)})[0];
  EXPECT_FALSE(result.finite);
  EXPECT_TRUE(result.sampled.empty());
  Growing again(*model, 0);
  again.Prefill(prompt_);
  for (int i = 0; i < 10; ++i) again.Decode({});
  EXPECT_EQ(again.numbers(), plain.numbers());
}

INSTANTIATE_TEST_SUITE_P(Models, SpeculationTest,
                         testing::Combine(testing::Values("float32", "bfloat16"), testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "Affine" : "Plain");
                         });

}  // namespace
}  // namespace affine
