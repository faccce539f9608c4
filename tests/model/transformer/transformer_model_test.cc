#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>

#include "model/model_loader.h"
#include "tests/support/tiny_model.h"

namespace affine {
namespace {

// Untied, so that a broken embedding does not break everybody's logits.
const nlohmann::json kAffine = {
    {"tie_word_embeddings", false},
    {"attention",
     {{"denominator", "learned_sink"},
      {"affine", {{"alpha_activation", "linear_clipping"}, {"normalizer", "visible"}}},
      {"gate", "headwise"}}}};

// One sequence that a test moves on, with blocks of its own.
struct Sequence {
  std::vector<int32_t> tokens;
  std::vector<int32_t> blocks;
  SamplingParams sampling = {
      .temperature = 0.8f, .seed = 5, .top_log_probs = 2, .prompt_top_log_probs = 0};
  size_t done = 0;

  SequenceSlice Next(size_t count) const {
    SequenceSlice slice;
    slice.tokens = std::span(tokens).subspan(done, count);
    slice.start = static_cast<int32_t>(done);
    slice.block_table = blocks;
    slice.sampling = &sampling;
    slice.samples = done + count == tokens.size() ? 1 : 0;
    const size_t targets = count - slice.samples;
    slice.targets = std::span(tokens).subspan(done + 1, targets);
    return slice;
  }
};

std::vector<int32_t> Prompt(size_t n, uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<int32_t> tokens(n);
  for (int32_t& t : tokens) t = static_cast<int32_t>(3 + engine() % 60);
  return tokens;
}

std::vector<int32_t> Blocks(int32_t first, int32_t count) {
  std::vector<int32_t> blocks(count);
  std::iota(blocks.rbegin(), blocks.rend(), first);
  return blocks;
}

// The parameter is the type of the weights.
class TransformerModelTest : public testing::TestWithParam<const char*> {
 protected:
  static void ChooseType(LoadOptions& options) {
    const bool integers = std::string(GetParam()).starts_with("int");
    (integers ? options.weights : options.dtype) = GetParam();
  }

  std::unique_ptr<LanguageModel> Load(int threads = 2, int32_t block_size = 16) {
    LoadOptions options;
    options.path = tiny_.path();
    ChooseType(options);
    options.kv_cache_bytes = 8 << 20;
    options.num_threads = threads;
    options.block_size = block_size;
    options.max_batched_tokens = 256;
    return LoadLanguageModel(options);
  }

  // All that a sequence gives: scores of the prompt, then `steps` sampled tokens.
  static std::vector<float> Generate(LanguageModel& model, Sequence sequence, size_t chunk,
                                     int steps) {
    std::vector<float> numbers;
    const auto take = [&](const SliceResult& result) {
      EXPECT_TRUE(result.finite);
      for (const ScoredToken& token : result.scored) numbers.push_back(token.log_prob);
      if (result.sampled.empty()) return;
      numbers.push_back(static_cast<float>(result.sampled[0].id));
      numbers.push_back(result.sampled[0].log_prob);
      for (const auto& [id, log_prob] : result.sampled[0].top) numbers.push_back(log_prob);
      sequence.tokens.push_back(result.sampled[0].id);
    };
    const size_t prompt = sequence.tokens.size();
    while (sequence.tokens.size() < prompt + steps) {
      const size_t left = sequence.tokens.size() - sequence.done;
      const size_t count = std::min(left, chunk);
      const SequenceSlice slice = sequence.Next(count);
      const SliceResult result = model.Step({.copies = {}, .slices = std::span(&slice, 1)})[0];
      sequence.done += count;
      take(result);
      if (!result.finite) break;
    }
    return numbers;
  }

  TinyModel tiny_{kAffine};
};

TEST_P(TransformerModelTest, ChunksBlocksAndThreadsLeaveEveryBitAsItIs) {
  const Sequence sequence{Prompt(70, 1), Blocks(3, 8)};
  const auto model = Load();
  const std::vector<float> reference = Generate(*model, sequence, 1000, 12);
  for (size_t chunk : {1, 7, 16, 64}) EXPECT_EQ(Generate(*model, sequence, chunk, 12), reference);
  EXPECT_EQ(Generate(*Load(1), sequence, 9, 12), reference);
  EXPECT_EQ(Generate(*Load(3, 64), sequence, 33, 12), reference);
}

TEST_P(TransformerModelTest, BatchMatesLeaveEveryBitAsItIs) {
  const auto model = Load();
  std::vector<Sequence> mates;
  for (uint32_t i = 0; i < 7; ++i) {
    mates.push_back({Prompt(5 + 9 * i, i), Blocks(static_cast<int32_t>(8 * i), 6)});
  }
  std::vector<std::vector<float>> alone;
  for (const Sequence& mate : mates) alone.push_back(Generate(*model, mate, 1000, 1));
  std::vector<SequenceSlice> slices;
  for (const Sequence& mate : mates) slices.push_back(mate.Next(mate.tokens.size()));
  const auto results = model->Step({.copies = {}, .slices = slices});
  for (size_t i = 0; i < mates.size(); ++i) {
    std::vector<float> together;
    for (const ScoredToken& token : results[i].scored) together.push_back(token.log_prob);
    together.push_back(static_cast<float>(results[i].sampled[0].id));
    together.push_back(results[i].sampled[0].log_prob);
    for (const auto& [id, log_prob] : results[i].sampled[0].top) together.push_back(log_prob);
    EXPECT_EQ(together, alone[i]);
  }
}

TEST_P(TransformerModelTest, ObservingMeasuresEveryHeadAndChangesNoResult) {
  const auto model = Load(), observed = Load();
  std::vector<SequenceSlice> slices;
  const Sequence one{Prompt(40, 1), Blocks(0, 4)}, other{Prompt(23, 2), Blocks(8, 4)};
  for (const Sequence* sequence : {&one, &other})
    slices.push_back(sequence->Next(sequence->tokens.size()));
  const auto plain = model->Step({.copies = {}, .slices = slices});
  EXPECT_EQ(model->observation_seconds(), 0.0);
  std::vector<HeadStability> heads(2u * 4u);  // layers, heads
  for (SequenceSlice& slice : slices) {
    slice.stability = heads.data();
    slice.observe_from = slice.start + static_cast<int32_t>(slice.tokens.size()) - 1;
  }
  const auto results = observed->Step({.copies = {}, .slices = slices});
  EXPECT_GT(observed->observation_seconds(), 0.0);
  for (size_t i = 0; i < slices.size(); ++i) {
    EXPECT_EQ(results[i].sampled[0].id, plain[i].sampled[0].id);
    EXPECT_EQ(results[i].sampled[0].log_prob, plain[i].sampled[0].log_prob);
  }
  for (const HeadStability& head : heads) {
    EXPECT_EQ(head.queries, 2);
    EXPECT_GT(head.entropy, 0.0);
    EXPECT_LE(head.entropy, std::log(40.0) + std::log(23.0) + 1e-4);
    EXPECT_GT(head.sink_mass, 0.0);  // a learned sink
  }
}

TEST_P(TransformerModelTest, WhatIsObservedOfAPromptIsTheSameBitsForAllChunksAndCompany) {
  const auto observe = [&](size_t chunk, bool company) {
    const auto model = Load();
    std::vector<HeadStability> heads(2u * 4u);  // layers, heads
    Sequence sequence{Prompt(40, 1), Blocks(0, 4)}, other{Prompt(40, 2), Blocks(8, 4)};
    while (static_cast<size_t>(sequence.done) < sequence.tokens.size()) {
      const size_t count = std::min(chunk, sequence.tokens.size() - sequence.done);
      std::vector<SequenceSlice> slices = {sequence.Next(count)};
      slices[0].stability = heads.data();
      slices[0].observe_from = 3;
      if (company) slices.insert(slices.begin(), other.Next(count));
      model->Step({.copies = {}, .slices = slices});
      sequence.done += static_cast<int32_t>(count);
      other.done += static_cast<int32_t>(count);
    }
    return heads;
  };
  const std::vector<HeadStability> reference = observe(40, false);
  EXPECT_EQ(reference[0].queries, 37);
  EXPECT_EQ(observe(1, false), reference);
  EXPECT_EQ(observe(7, true), reference);
}

TEST_P(TransformerModelTest, WhatIsObservedAfterASharedPrefixOrInOtherBlocksIsTheSameBits) {
  const auto model = Load();
  const auto observe = [&](Sequence sequence, size_t done) {
    std::vector<HeadStability> heads(2u * 4u);  // layers, heads
    sequence.done = done;
    SequenceSlice slice = sequence.Next(sequence.tokens.size() - done);
    slice.stability = heads.data();
    slice.observe_from = 36;
    model->Step({.copies = {}, .slices = std::span(&slice, 1)});
    return heads;
  };
  const Sequence first{Prompt(40, 1), Blocks(0, 4)};
  const std::vector<HeadStability> reference = observe(first, 0);
  EXPECT_EQ(reference[0].queries, 4);
  Sequence hit{first.tokens, Blocks(8, 4)};  // its first two blocks are those of `first`
  std::copy_n(first.blocks.begin(), 2, hit.blocks.begin());
  EXPECT_EQ(observe(hit, 32), reference);
  const Sequence recomputed{first.tokens, Blocks(20, 4)};  // as after a preemption
  EXPECT_EQ(observe(recomputed, 0), reference);
}

// Without scores most rows end with the last layer's cache; with them none does.
TEST_P(TransformerModelTest, RowsThatEndInTheLastLayerLeaveEveryBitOfTheOthersAsItIs) {
  const Sequence scored{Prompt(70, 1), Blocks(3, 8)}, mate{Prompt(33, 2), Blocks(11, 4)};
  const std::vector<float> reference = Generate(*Load(), scored, 1000, 12);
  const std::vector<float> output(reference.begin() + 69, reference.end());
  for (const size_t chunk : {70, 7, 16}) {
    const auto model = Load();
    Sequence sequence = scored, other = mate;
    std::vector<float> numbers;
    while (sequence.tokens.size() < 70 + 12) {
      const size_t count = std::min(chunk, sequence.tokens.size() - sequence.done);
      std::vector<SequenceSlice> slices = {other.Next(3), sequence.Next(count)};
      slices[1].targets = {};
      const SliceResult result = model->Step({.copies = {}, .slices = slices})[1];
      sequence.done += count;
      if (result.sampled.empty()) continue;
      numbers.push_back(static_cast<float>(result.sampled[0].id));
      numbers.push_back(result.sampled[0].log_prob);
      for (const auto& [id, log_prob] : result.sampled[0].top) numbers.push_back(log_prob);
      sequence.tokens.push_back(result.sampled[0].id);
    }
    EXPECT_EQ(numbers, output) << chunk;
  }
}

TEST_P(TransformerModelTest, ObservedRowsGoThroughTheLastLayerWithAndWithoutScores) {
  const Sequence sequence{Prompt(40, 1), Blocks(0, 4)}, mate{Prompt(23, 2), Blocks(8, 4)};
  const auto observe = [&](bool scores, int32_t from) {
    const auto model = Load();
    std::vector<HeadStability> heads(2u * 4u);  // layers, heads
    std::vector<SequenceSlice> slices = {mate.Next(20), sequence.Next(40)};
    slices[0].targets = {};
    if (!scores) slices[1].targets = {};
    slices[1].stability = heads.data();
    slices[1].observe_from = from;
    model->Step({.copies = {}, .slices = slices});
    return heads;
  };
  for (const int32_t from : {0, 17, 39}) {
    EXPECT_EQ(observe(true, from), observe(false, from)) << from;
    EXPECT_EQ(observe(false, from)[4].queries, 40 - from);
  }
}

TEST_P(TransformerModelTest, ACopiedBlockContinuesAsTheOriginal) {
  const auto model = Load();
  Sequence sequence{Prompt(20, 3), Blocks(0, 4)};
  const std::vector<float> reference = Generate(*model, sequence, 1000, 6);
  Sequence fork{Prompt(20, 3), Blocks(10, 4)};
  // The first 19 tokens fill block 0 and part of block 1 of the original.
  const std::vector<BlockCopy> copies = {{sequence.blocks[0], fork.blocks[0]},
                                         {sequence.blocks[1], fork.blocks[1]}};
  fork.done = 19;
  const SequenceSlice slice = fork.Next(1);
  const SliceResult result = model->Step({.copies = copies, .slices = std::span(&slice, 1)})[0];
  EXPECT_EQ(static_cast<float>(result.sampled[0].id), reference[19]);
  EXPECT_EQ(result.sampled[0].log_prob, reference[20]);
}

TEST_P(TransformerModelTest, ANonFiniteSequenceIsToldAndItsMatesAreUnchanged) {
  const Sequence good{Prompt(30, 4), Blocks(0, 4)};
  const std::vector<float> reference = Generate(*Load(), good, 1000, 1);
  tiny_.BreakEmbedding(1);
  const auto model = Load();
  Sequence bad{Prompt(30, 5), Blocks(8, 4)};
  bad.tokens[12] = 1;
  const std::vector<SequenceSlice> slices = {bad.Next(30), good.Next(30)};
  const auto results = model->Step({.copies = {}, .slices = slices});
  EXPECT_FALSE(results[0].finite);
  EXPECT_TRUE(results[0].sampled.empty());
  EXPECT_TRUE(results[1].finite);
  EXPECT_EQ(static_cast<float>(results[1].sampled[0].id), reference[29]);
  EXPECT_EQ(results[1].sampled[0].log_prob, reference[30]);
  // Its blocks serve another sequence afterwards as if they were new.
  const Sequence heir{good.tokens, bad.blocks};
  EXPECT_EQ(Generate(*model, heir, 11, 1), reference);
}

TEST_P(TransformerModelTest, ABrokenChunkIsToldBeforeAnyLogitsAreWanted) {
  tiny_.BreakEmbedding(1);
  const auto model = Load();
  Sequence bad{Prompt(30, 5), Blocks(8, 4)};
  bad.tokens[9] = 1;
  SequenceSlice slice = bad.Next(10);
  slice.targets = {};
  EXPECT_FALSE(model->Step({.copies = {}, .slices = std::span(&slice, 1)})[0].finite);
}

TEST_P(TransformerModelTest, WidthsThatFillNoWholePanelGiveTheSameBitsToo) {
  const nlohmann::json narrow = {{"hidden_size", 40}, {"intermediate_size", 50}};
  const TinyModel odd(narrow);
  LoadOptions options;
  options.path = odd.path();
  ChooseType(options);
  options.kv_cache_bytes = 8 << 20;
  const auto model = LoadLanguageModel(options);
  const Sequence sequence{Prompt(40, 1), Blocks(0, 4)};
  const std::vector<float> reference = Generate(*model, sequence, 1000, 5);
  for (size_t chunk : {1, 7}) EXPECT_EQ(Generate(*model, sequence, chunk, 5), reference);
}

TEST_P(TransformerModelTest, MoreTokensThanWereLoadedForAreRefused) {
  const auto model = Load();
  const Sequence sequence{Prompt(257, 6), Blocks(0, 20)};
  const SequenceSlice slice = sequence.Next(257);
  EXPECT_THROW(model->Step({.copies = {}, .slices = std::span(&slice, 1)}), std::length_error);
}

INSTANTIATE_TEST_SUITE_P(Types, TransformerModelTest,
                         testing::Values("float32", "bfloat16", "int8", "int4"));

}  // namespace
}  // namespace affine
