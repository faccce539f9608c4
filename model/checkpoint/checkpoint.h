// A checkpoint folder whose config and tensors agree.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/checkpoint/model_config.h"
#include "model/checkpoint/safetensors_file.h"

namespace affine {

/// Immutable once open, safe to read from several threads. Opening maps the files and reads their
/// headers alone. Tensor views live as long as the object, also when it is moved.
class Checkpoint {
 public:
  /// Throws one ModelError that names every missing, unexpected, overlapping or wrongly shaped
  /// tensor (20 of a kind, then a count).
  explicit Checkpoint(const std::string& folder);

  const ModelConfig& config() const { return config_; }
  /// By Hugging Face name ("model.layers.0.self_attn.q_proj.weight"); all that the config asks for
  /// are there. Throws ModelError for another name.
  const TensorView& tensor(std::string_view name) const;
  bool contains(std::string_view name) const { return tensors_.contains(name); }
  /// The type of model.embed_tokens.weight; single tensors may differ.
  TensorDtype dtype() const { return tensor("model.embed_tokens.weight").dtype; }
  /// Elements in all tensors that the config asks for.
  int64_t num_parameters() const { return num_parameters_; }
  /// Their bytes as stored.
  int64_t weight_bytes() const { return weight_bytes_; }

 private:
  ModelConfig config_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, const TensorView*, std::less<>> tensors_;
  int64_t num_parameters_ = 0;
  int64_t weight_bytes_ = 0;
};

}  // namespace affine
