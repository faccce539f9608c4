#include "model/transformer/output_head.h"

#include <algorithm>

#include "model/layers/tensor_values.h"

namespace affine {

OutputHead::OutputHead(const ModelConfig& config, const Checkpoint& checkpoint, WeightFormat layers,
                       const Kernels& kernels, WorkerTeam& team)
    : hidden_(config.hidden_size),
      vocab_size_(config.vocab_size),
      epsilon_(static_cast<float>(config.rms_norm_eps)),
      norm_(Floats(checkpoint.tensor("model.norm.weight"))),
      projection_(config.hidden_size, config.vocab_size, FormatBeside(layers)),
      kernels_(kernels),
      team_(team),
      normed_rows_(team.size() * hidden_),
      normed_(kernels, FormatBeside(layers), kRowsAtOnce, hidden_),
      logits_(kRowsAtOnce * projection_.padded_out_features()) {
  // In place, since copies would lose the memory that each has reserved.
  samplers_.reserve(team.size());
  for (int i = 0; i < team.size(); ++i) samplers_.emplace_back(kernels, config.vocab_size);
  const char* name = config.tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight";
  projection_.SetWeight(0, checkpoint.tensor(name), team);
}

void OutputHead::Finish(const float* residual, std::span<const WantedRow> wanted,
                        std::span<const SequenceSlice> slices, std::span<SliceResult> results) {
  const int64_t width = projection_.padded_out_features();
  const auto count = static_cast<int64_t>(wanted.size());
  for (int64_t begin = 0; begin < count; begin += kRowsAtOnce) {
    const int64_t rows = std::min(kRowsAtOnce, count - begin);
    team_.ParallelFor(rows, [&](int64_t i, int thread) {
      const float* row = residual + wanted[begin + i].row * PaddedWidth(hidden_);
      float* normed = normed_rows_.data() + thread * hidden_;
      kernels_.rms_norm(row, norm_.data(), epsilon_, hidden_, normed);
      normed_.Set(i, normed, hidden_);
    });
    projection_.Forward({normed_, rows, logits_.data(), width}, kernels_, team_);
    team_.ParallelFor(rows, [&](int64_t i, int thread) {
      const WantedRow& row = wanted[begin + i];
      FinishRow(row, logits_.data() + i * width, slices[row.slice], results[row.slice],
                samplers_[thread]);
    });
  }
}

// Rows of one slice may be finished on several threads: each writes its own element, and `finite`
// only ever goes to false.
void OutputHead::FinishRow(const WantedRow& wanted, const float* logits, const SequenceSlice& slice,
                           SliceResult& result, Sampler& sampler) const {
  if (!sampler.AllFinite(logits)) {
    __atomic_store_n(&result.finite, false, __ATOMIC_RELAXED);
    return;
  }
  const SamplingParams& sampling = *slice.sampling;
  if (wanted.position >= 0) {
    const auto recent = static_cast<size_t>(wanted.position - slice.start);
    const size_t words = slice.masks.size() / slice.samples;
    result.sampled[wanted.index] =
        sampler.Sample(logits, sampling, wanted.position,
                       {slice.before, slice.tokens.first(recent), slice.prompt_length},
                       slice.masks.subspan(wanted.index * words, words));
  } else {
    result.scored[wanted.index] =
        sampler.Score(logits, slice.targets[wanted.index], sampling.prompt_top_log_probs);
  }
}

}  // namespace affine
