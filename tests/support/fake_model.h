// A language model without arithmetic, which finds out every mistake in block tables.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/language_model.h"

namespace affine {

struct FakeModelOptions {
  int32_t block_size = 4;
  int32_t num_blocks = 64;
  int32_t max_model_len = 256;
  int32_t vocab_size = 101;
  int32_t max_batched_tokens = 1 << 20;
  int32_t max_slices = 1 << 20;
  /// So many of 100 next tokens follow from the latest one alone, in a circle of seven.
  int32_t predictable_percent = 0;
  std::vector<int32_t> eos_token_ids = {};
};

/// Its cache holds, for each position, the token written there and a digest of all tokens up to it.
/// A step reads every earlier position through the block table and throws std::logic_error if one
/// was never written, holds another position, or belongs to another history; if a table has the
/// wrong length or names a block twice; if a slice is told of other tokens before it than were
/// written, or of none where its sampling reads them; and if a step writes a block that another of
/// its slices uses. The next token is a function of the history's digest and the sampling
/// parameters, so a whole wrong history shows in the tokens, and where sampling reads tokens the
/// prompt's length. Not thread-safe, as the contract says.
class FakeModel final : public LanguageModel {
 public:
  explicit FakeModel(const FakeModelOptions& options);
  const ModelInfo& info() const override { return info_; }
  std::span<const SliceResult> Step(const StepBatch& batch) override;
  double observation_seconds() const override { return 0.0; }

  /// What an engine must answer: the tokens after `prompt`, up to and with a stop token.
  std::vector<ScoredToken> Continue(std::vector<int32_t> prompt, const SamplingParams& sampling,
                                    int32_t max_tokens,
                                    std::span<const int32_t> stop_token_ids = {}) const;
  /// Prompt log-probabilities: of tokens 1...
  std::vector<ScoredToken> ScorePrompt(std::span<const int32_t> prompt,
                                       const SamplingParams& sampling) const;

  /// Slices that contain this token are not finite from now on.
  void Poison(int32_t token) { poisoned_.insert(token); }
  void Heal() { poisoned_.clear(); }
  /// What observing a position adds to the model's two layers of two heads; by default queries = 1
  /// and as entropy the token.
  std::function<HeadStability(int32_t token, int32_t position, int32_t layer, int32_t head)>
      observe;
  /// Called before each step, may throw.
  std::function<void(const StepBatch&)> before_step;
  int64_t steps() const { return steps_; }
  int64_t tokens_computed() const { return tokens_computed_; }

 private:
  struct Cell {
    int32_t position = -1;  // -1: never written
    int32_t token = 0;
    uint64_t digest = 0;  // of all tokens up to this one
  };
  Cell& At(const SequenceSlice& slice, int32_t position);
  void CheckTables(const StepBatch& batch) const;
  void Copy(const BlockCopy& copy);
  uint64_t ReadHistory(const SequenceSlice& slice);
  void StepSlice(const SequenceSlice& slice, SliceResult* result);
  void Observe(const SequenceSlice& slice) const;
  void CheckTokensSoFar(const SequenceSlice& slice);
  /// `id`, or the next one, in a circle, that the mask of the slice's sample has.
  int32_t FirstAllowed(const SequenceSlice& slice, size_t sample, int32_t id) const;
  ScoredToken Draw(uint64_t digest, int32_t last, const SamplingParams& sampling,
                   int32_t prompt_length) const;
  ScoredToken Score(uint64_t digest, int32_t token, int32_t top_log_probs) const;

  const FakeModelOptions options_;
  ModelInfo info_;
  std::vector<Cell> cells_;  // [num_blocks, block_size]
  std::vector<SliceResult> results_;
  std::set<int32_t> poisoned_;
  int64_t steps_ = 0;
  int64_t tokens_computed_ = 0;
};

/// Exact equality, all parts.
bool operator==(const ScoredToken& a, const ScoredToken& b);

}  // namespace affine
