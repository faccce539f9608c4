// The end of a step: final norm, logits of the rows that are wanted, sampling and scoring.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/checkpoint/checkpoint.h"
#include "model/language_model.h"
#include "model/layers/linear.h"
#include "model/sampling/sampler.h"

namespace affine {

/// One row whose logits are wanted: to sample from, or to score a target.
struct WantedRow {
  int64_t row = 0;  // of the step
  int64_t slice = 0;
  int64_t index = 0;      // of the slice's results: of `sampled` or of `scored`
  int64_t position = -1;  // of the token to be drawn; -1: a target is scored
};

class OutputHead {
 public:
  /// Logits of at most this many rows exist at a time: long prompts with log-probabilities stay
  /// small.
  static constexpr int64_t kRowsAtOnce = 64;

  /// How the projection is kept where layers are in `layers`: int4 would cost more here than in all
  /// layers together, so it is int8.
  static WeightFormat FormatBeside(WeightFormat layers) {
    return layers == WeightFormat::kInt4 ? WeightFormat::kInt8 : layers;
  }

  OutputHead(const ModelConfig& config, const Checkpoint& checkpoint, WeightFormat layers,
             const Kernels& kernels, WorkerTeam& team);

  /// `residual` [rows, hidden] after the last layer, at a stride of PaddedWidth(hidden). Writes
  /// into `results`, one for each slice, in which `sampled` and `scored` have room for all.
  void Finish(const float* residual, std::span<const WantedRow> wanted,
              std::span<const SequenceSlice> slices, std::span<SliceResult> results);

  int64_t weight_bytes() const { return projection_.bytes(); }

 private:
  void FinishRow(const WantedRow& wanted, const float* logits, const SequenceSlice& slice,
                 SliceResult& result, Sampler& sampler) const;

  int64_t hidden_;
  int64_t vocab_size_;
  float epsilon_;
  std::vector<float> norm_;  // [hidden]
  Linear projection_;        // [vocab, hidden]
  const Kernels& kernels_;
  WorkerTeam& team_;
  std::vector<float> normed_rows_;  // [threads, hidden]: each thread's row at hand
  PackedRows normed_;               // [kRowsAtOnce, hidden]
  std::vector<float> logits_;       // [kRowsAtOnce, padded vocab]
  std::vector<Sampler> samplers_;   // [threads]
};

}  // namespace affine
