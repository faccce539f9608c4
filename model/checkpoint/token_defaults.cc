#include "model/checkpoint/token_defaults.h"

#include <algorithm>
#include <string>
#include <vector>

namespace affine {
namespace {

/// Checkpoints write "no such token" as -1 too.
std::vector<int32_t> ReadIds(const JsonObject& object, const char* name, int32_t vocab_size) {
  std::vector<int32_t> ids = object.Ints(name, -1, vocab_size - 1);
  ids.erase(std::remove(ids.begin(), ids.end(), -1), ids.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

float ReadAboveZero(const JsonObject& object, const char* name, int high, float otherwise) {
  const auto value = static_cast<float>(object.Number(name, 0.0, high, otherwise));
  if (!(value > 0.0f)) {
    object.Refuse(name, "Allowed is a number above 0, up to " + std::to_string(high) + ".");
  }
  return value;
}

}  // namespace

void ReadTokenIds(const JsonObject& config, ModelConfig& model) {
  if (config.Has("bos_token_id")) {
    const std::vector<int32_t> ids = ReadIds(config, "bos_token_id", model.vocab_size);
    model.bos_token_id = ids.empty() ? -1 : ids.front();
  }
  if (config.Has("eos_token_id")) {
    model.eos_token_ids = ReadIds(config, "eos_token_id", model.vocab_size);
  }
}

void ReadGenerationDefaults(const JsonObject& generation, ModelConfig& model) {
  ReadTokenIds(generation, model);
  model.default_temperature =
      static_cast<float>(generation.Number("temperature", 0.0, 100.0, model.default_temperature));
  // -1 is another way to write "all".
  model.default_top_k = std::max(0, generation.Int("top_k", -1, INT32_MAX, model.default_top_k));
  model.default_top_p = ReadAboveZero(generation, "top_p", 1, model.default_top_p);
  model.default_min_p =
      static_cast<float>(generation.Number("min_p", 0.0, 1.0, model.default_min_p));
  model.default_repetition_penalty =
      ReadAboveZero(generation, "repetition_penalty", 100, model.default_repetition_penalty);
}

}  // namespace affine
