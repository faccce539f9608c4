// Opens a checkpoint folder as a model that can take steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "model/language_model.h"

namespace affine {

struct LoadOptions {
  std::string path;            // checkpoint folder, Hugging Face layout
  std::string device = "cpu";  // "cpu" or "cuda"
  std::string dtype = "auto";  // "auto" (as stored), "float32" or "bfloat16"
  /// How weights are kept: "auto" (as dtype), "int8" or "int4", rounded while loading.
  std::string weights = "auto";
  int32_t max_model_len = 0;   // 0: what the checkpoint allows
  int32_t block_size = 16;     // a multiple of 16, at most 256
  int64_t kv_cache_bytes = 0;  // bytes for the paged cache, at least one sequence of max_model_len
  int32_t max_batched_tokens = 2048;  // most tokens in one step
  int32_t num_threads = 0;            // 0: one for each core
  /// Called with the share of the work that is done, in [0, 1]; may be empty.
  std::function<void(double)> progress;
};

/// Throws ModelError. Memory needed is checked against what is free before weights are read.
std::unique_ptr<LanguageModel> LoadLanguageModel(const LoadOptions& options);

}  // namespace affine
