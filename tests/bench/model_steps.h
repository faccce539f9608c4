// Steps of a model on sequences that stand in its cache, for programs that time them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "model/language_model.h"

namespace affine {

/// Sequences of `context` cached tokens and a step that adds `tokens` to each.
class ModelSteps {
 public:
  ModelSteps(LanguageModel& model, int sequences, int32_t context, int32_t tokens) : model_(model) {
    const int32_t blocks = (context + tokens + kBlockSize - 1) / kBlockSize;
    for (int s = 0; s < sequences; ++s) {
      std::vector<int32_t>& table = tables_.emplace_back();
      for (int32_t b = 0; b < blocks; ++b) table.push_back(s * blocks + b);
      std::vector<int32_t>& ids = tokens_.emplace_back();
      for (int32_t i = 0; i < context + tokens; ++i)
        ids.push_back((s * 7919 + i * 104729) % model.info().vocab_size);
    }
    constexpr int32_t kChunk = 512;
    for (int32_t begin = 0; begin < context; begin += kChunk) {
      for (int s = 0; s < sequences; ++s) Run(s, s + 1, begin, std::min(kChunk, context - begin));
    }
    start_ = context;
    length_ = tokens;
  }

  void Step(bool observe) {
    observed_ = observe ? kObserved : 0;
    Run(0, tables_.size(), start_, length_);
  }

 private:
  static constexpr int32_t kBlockSize = 16;
  void Run(size_t first, size_t last, int32_t start, int32_t length) {
    slices_.clear();
    for (size_t s = first; s < last; ++s) {
      SequenceSlice slice;
      slice.tokens = std::span(tokens_[s]).subspan(start, length);
      slice.start = start;
      slice.block_table = tables_[s];
      slice.samples = 1;
      slice.sampling = &greedy_;
      if (s < observed_) {
        slice.stability = heads_.data();
        slice.observe_from = start + length - 1;
      }
      slices_.push_back(slice);
    }
    model_.Step({{}, slices_});
  }

  LanguageModel& model_;
  SamplingParams greedy_ = [] {
    SamplingParams params;
    params.temperature = 0.0f;
    return params;
  }();
  std::vector<std::vector<int32_t>> tables_, tokens_;
  std::vector<SequenceSlice> slices_;
  int32_t start_ = 0, length_ = 0;
  static constexpr size_t kObserved = 8;  // as many as the engine samples in one step
  size_t observed_ = 0;
  std::vector<HeadStability> heads_{static_cast<size_t>(model_.info().num_layers) *
                                    model_.info().num_heads};
};

}  // namespace affine
