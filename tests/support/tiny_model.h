// Tiny random checkpoints on disk, of any architecture and attention.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace affine {

/// A folder with config.json and model.safetensors that goes with the object. Hidden 32, 4 heads of
/// 16 over 2 key-value heads, 2 layers, 64 tokens, float32.
class TinyModel {
 public:
  /// `changes` are merged into config.json; an "attention" key chooses the member of the family.
  explicit TinyModel(const nlohmann::json& changes = nlohmann::json::object(), uint32_t seed = 1);
  TinyModel(const TinyModel&) = delete;
  TinyModel& operator=(const TinyModel&) = delete;
  ~TinyModel();

  std::string path() const { return folder_; }
  /// Makes the embedding of `token` NaN, so that whoever reads it has no finite logits.
  void BreakEmbedding(int32_t token) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace affine
