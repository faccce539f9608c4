// A decoder with its cache: the LanguageModel that the engine steps.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/checkpoint/checkpoint.h"
#include "model/language_model.h"
#include "model/layers/embedding.h"
#include "model/model_loader.h"
#include "model/transformer/decoder_layer.h"
#include "model/transformer/output_head.h"

namespace affine {

class TransformerModel final : public LanguageModel {
 public:
  /// What is fixed before anything is allocated.
  struct Plan {
    ModelInfo info;
    KvCacheShape cache;
    WeightFormat weights = WeightFormat::kFloat32;
    int64_t max_batched_tokens = 0;
    CpuIsa isa = CpuIsa::kPortable;
    int num_threads = 0;
    std::function<void(double)> progress;
  };

  TransformerModel(Checkpoint checkpoint, const Plan& plan);

  const ModelInfo& info() const override { return info_; }
  std::span<const SliceResult> Step(const StepBatch& batch) override;
  double observation_seconds() const override { return workspace_->attention.observation_seconds; }

 private:
  void Gather(const StepBatch& batch);
  void GatherKept();
  void WantRows(int64_t index, int64_t first, const SequenceSlice& slice);
  void Reset(const StepBatch& batch);

  Checkpoint checkpoint_;  // embeddings are read where they are mapped
  ModelInfo info_;
  int64_t max_batched_tokens_;
  const Kernels& kernels_;
  WorkerTeam team_;
  KvCache cache_;
  Rotary rotary_;
  PagedCoreCpu core_;
  Embedding embedding_;
  std::vector<std::unique_ptr<DecoderLayer>> layers_;
  std::unique_ptr<OutputHead> head_;
  // Of the step at hand, reused.
  std::unique_ptr<StepWorkspace> workspace_;
  AttentionBatch attention_batch_;
  AttentionBatch kept_;  // the rows that go through the whole of the last layer
  std::vector<WantedRow> wanted_;
  std::vector<SliceResult> results_;
};

}  // namespace affine
