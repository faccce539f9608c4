// The contract between the engine and a model: one step over a ragged batch on a paged cache.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "model/model_info.h"
#include "model/sampling_params.h"
#include "model/stability.h"

namespace affine {

/// One sequence's share of a step. Its tokens are computed at positions [start, start + n) and
/// their keys and values written to the cache; positions before `start` are there already.
/// Positions from `start` on may have been written before, by a finite slice whose last tokens were
/// taken back: what that left is overwritten or never seen, and changes no bit.
struct SequenceSlice {
  std::span<const int32_t> tokens;  // [n], n >= 1, ids in [0, vocab_size)
  int32_t start = 0;
  std::span<const int32_t> block_table;  // blocks of positions [0, start + n), in order
  /// A token is drawn after each of the last so many of `tokens`, each with its own position's
  /// random number. More than one: all but the first of these tokens are guesses, to be kept while
  /// they equal what was drawn at their place.
  int32_t samples = 0;                       // [0, n]
  const SamplingParams* sampling = nullptr;  // never null
  /// What sampling.reads_tokens() needs: the sequence's tokens at positions [0, start), and how
  /// many of all its tokens are the prompt's. The others are output, guesses among `tokens` too.
  std::span<const int32_t> before;
  int32_t prompt_length = 0;
  /// Empty, or the tokens that follow each of `tokens` in the prompt, to be scored: [n], or
  /// [n - 1] when the last of `tokens` is the end of the prompt.
  std::span<const int32_t> targets;
  /// Empty, or [samples, TokenMask::WordsFor(vocab)]: for each token drawn the ids that may be,
  /// beside what `sampling` says. At least one id that sampling.allowed has is in each.
  std::span<const uint32_t> masks;
  /// [layers, heads]: what the attention of positions [observe_from, start + n) did is added here,
  /// for a model that can observe it; null: not observed. Observing changes no bit of any result.
  HeadStability* stability = nullptr;
  int32_t observe_from = 0;  // below start: from start
};

/// Copies a whole cache block, before anything else of the step, for a sequence that forks.
struct BlockCopy {
  int32_t from = 0;
  int32_t to = 0;
};

struct StepBatch {
  std::span<const BlockCopy> copies;
  std::span<const SequenceSlice> slices;
};

/// A token with its log-probability under the model's own distribution, which no parameter of
/// sampling changes. Without log-probabilities asked for, only `id` is meaningful.
struct ScoredToken {
  int32_t id = 0;
  float log_prob = 0.0f;
  int32_t rank = 0;                                    // 1 is the most likely; 0: not computed
  std::vector<std::pair<int32_t, float>> top;          // the best ids, descending; ties by lower id
  std::vector<std::pair<int32_t, float>> chosen = {};  // SamplingParams::log_prob_ids, in order
};

struct SliceResult {
  std::vector<ScoredToken> sampled;  // one for each of the slice's samples, if it is finite
  std::vector<ScoredToken> scored;   // one for each of the slice's targets
  /// False: this slice's logits held NaN or infinity, at any of its tokens, or its last row did.
  bool finite = true;
};

/// Not thread-safe: one thread calls Step. A sequence's results are bit for bit the same whatever
/// the other slices are and however its tokens were cut into slices.
class LanguageModel {
 public:
  virtual ~LanguageModel() = default;
  virtual const ModelInfo& info() const = 0;
  /// Results in the order of batch.slices; valid until the next call. The number of tokens in a
  /// batch is at most the max_batched_tokens that the model was loaded with.
  virtual std::span<const SliceResult> Step(const StepBatch& batch) = 0;
  /// What observing made the latest step longer by, in seconds; 0 if no slice was observed.
  virtual double observation_seconds() const = 0;
};

}  // namespace affine
