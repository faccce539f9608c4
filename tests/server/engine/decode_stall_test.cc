#include <algorithm>
#include <vector>

#include "tests/server/engine/engine_fixture.h"

namespace affine {
namespace {

// A model whose steps take time on the clock: 5 ms, and 0.5 ms for each token.
class DecodeStallTest : public EngineFixture {
 protected:
  void UseTimed(EngineOptions options) {
    Use({.block_size = 16, .num_blocks = 1024, .max_model_len = 4096}, options);
    model_->before_step = [this](const StepBatch& batch) {
      size_t tokens = 0;
      bool decodes = false;
      for (const SequenceSlice& slice : batch.slices) {
        tokens += slice.tokens.size();
        decodes |= slice.tokens.size() == 1;
      }
      const auto took = std::chrono::microseconds(5000 + 500 * tokens);
      clock_.Advance(took);
      if (decodes) stalls_.push_back(took / std::chrono::microseconds(1));
      sizes_.push_back(tokens);
    };
  }
  static std::vector<int32_t> Prompt(int32_t first, int32_t length) {
    std::vector<int32_t> prompt;
    for (int32_t i = 0; i < length; ++i) prompt.push_back((first + i * 7) % 101);
    return prompt;
  }

  std::vector<int64_t> stalls_;  // steps that decode, microseconds
  std::vector<size_t> sizes_;    // of all steps, tokens
};

TEST_F(DecodeStallTest, LearnsFromTheClockAndKeepsDecodesFromWaitingLonger) {
  UseTimed({.max_num_batched_tokens = 2048, .max_num_seqs = 16, .max_decode_stall_ms = 100});
  std::vector<Trial> trials = {Submit(Prompt(1, 100), 400)};
  for (int i = 0; i < 10; ++i) Round();
  for (int i = 0; i < 5; ++i) trials.push_back(Submit(Prompt(i + 2, 2000), 4));
  RunAll();
  for (const Trial& trial : trials) ExpectWhole(trial);
  EXPECT_LE(*std::ranges::max_element(stalls_), 120'000);
  EXPECT_GE(*std::ranges::max_element(stalls_), 80'000);
}

TEST_F(DecodeStallTest, WithoutABoundAPromptTakesWhatAStepHas) {
  UseTimed({.max_num_batched_tokens = 2048, .max_num_seqs = 16, .max_decode_stall_ms = 0});
  std::vector<Trial> trials = {Submit(Prompt(1, 100), 400)};
  for (int i = 0; i < 10; ++i) Round();
  trials.push_back(Submit(Prompt(2, 2000), 4));
  RunAll();
  for (const Trial& trial : trials) ExpectWhole(trial);
  EXPECT_EQ(*std::ranges::max_element(stalls_), 5000 + 500 * 2001);
}

TEST_F(DecodeStallTest, StepsThatFailTeachNothing) {
  UseTimed({.max_num_batched_tokens = 2048, .max_num_seqs = 16, .max_decode_stall_ms = 100});
  const Trial first = Submit(Prompt(1, 100), 4);
  RunAll();
  const double before = engine_->scheduler().step_times().PrefillSeconds(0, 100);
  model_->before_step = [this](const StepBatch&) {
    clock_.Advance(std::chrono::hours(1));
    throw std::runtime_error("broken");
  };
  const Trial broken = Submit(Prompt(2, 100), 4);
  RunAll();
  EXPECT_EQ(engine_->scheduler().step_times().PrefillSeconds(0, 100), before);
}

TEST_F(DecodeStallTest, AShortRequestThatArrivesDuringAStepIsInTheNextBesideALongPrompt) {
  UseTimed({.max_num_batched_tokens = 512, .max_num_seqs = 16});
  std::vector<Trial> trials = {Submit(Prompt(1, 3000), 4)};
  Round();
  trials.push_back(Submit(Prompt(2, 50), 4));
  Round();
  EXPECT_EQ(trials[1].sink->tokens().size(), 1u);
  EXPECT_EQ(sizes_.back(), 50u + 448u);  // and the long prompt goes on
  RunAll();
  for (const Trial& trial : trials) ExpectWhole(trial);
}

}  // namespace
}  // namespace affine
