#include "model/checkpoint/model_config.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "model/checkpoint/attention_config.h"
#include "model/checkpoint/json_object.h"
#include "model/checkpoint/problem_list.h"
#include "model/checkpoint/rope_config.h"
#include "model/checkpoint/token_defaults.h"
#include "model/model_error.h"
#include "model/quoted.h"

namespace affine {
namespace {

constexpr size_t kMaxConfigBytes = 1 << 20;

// Far above any known model, and small enough that no product of two overflows 64 bits.
constexpr int32_t kMostHidden = 1 << 20;
constexpr int32_t kMostIntermediate = 1 << 22;
constexpr int32_t kMostLayers = 1024;
constexpr int32_t kMostHeads = 4096;
constexpr int32_t kMostHeadDim = 1024;
constexpr int32_t kMostVocabulary = 1 << 24;
constexpr int32_t kMostPositions = 1 << 27;

Architecture ReadArchitecture(const JsonObject& config) {
  constexpr char kAllowed[] = "Allowed is ['LlamaForCausalLM'] or ['Qwen2ForCausalLM'].";
  const std::vector<std::string> names = config.Texts("architectures");
  if (names.size() != 1) config.Refuse("architectures", kAllowed);
  if (names[0] == "LlamaForCausalLM") return Architecture::kLlama;
  if (names[0] == "Qwen2ForCausalLM") return Architecture::kQwen2;
  throw ModelError("config.json: architectures is [" + Quoted(names[0]) + "]. " + kAllowed +
                   " Serve another checkpoint: this architecture is not built in.");
}

int32_t ReadHeadDim(const JsonObject& config, const ModelConfig& model) {
  if (!config.Has("head_dim") && model.hidden_size % model.num_heads != 0) {
    config.Refuse("head_dim", "It may be absent only if num_attention_heads (" +
                                  std::to_string(model.num_heads) + ") divides hidden_size (" +
                                  std::to_string(model.hidden_size) + ").");
  }
  const int32_t head_dim =
      config.Int("head_dim", 2, kMostHeadDim, model.hidden_size / model.num_heads);
  if (head_dim < 2 || head_dim > kMostHeadDim || head_dim % 2 != 0) {
    throw ModelError("config.json: a head has " + std::to_string(head_dim) +
                     " dimensions (head_dim, or hidden_size / num_attention_heads). Allowed is an "
                     "even number from 2 to " +
                     std::to_string(kMostHeadDim) + ". Correct the file.");
  }
  return head_dim;
}

void ReadSizes(const JsonObject& config, ModelConfig& model) {
  model.hidden_size = config.Int("hidden_size", 1, kMostHidden);
  model.intermediate_size = config.Int("intermediate_size", 1, kMostIntermediate);
  model.num_layers = config.Int("num_hidden_layers", 1, kMostLayers);
  model.num_heads = config.Int("num_attention_heads", 1, kMostHeads);
  model.num_kv_heads = config.Int("num_key_value_heads", 1, kMostHeads, model.num_heads);
  if (model.num_heads % model.num_kv_heads != 0) {
    config.Refuse("num_key_value_heads", "It must divide num_attention_heads, which is " +
                                             std::to_string(model.num_heads) + ".");
  }
  model.head_dim = ReadHeadDim(config, model);
  model.vocab_size = config.Int("vocab_size", 1, kMostVocabulary);
  model.max_position_embeddings = config.Int("max_position_embeddings", 1, kMostPositions);
  model.rms_norm_eps = config.Number("rms_norm_eps", 0.0, 1.0, model.rms_norm_eps);
}

/// What would change the outputs and isn't built in.
void RefuseUnsupported(const JsonObject& config) {
  config.Choice("hidden_act", {"silu"});
  if (config.Bool("use_sliding_window", false)) {
    config.Refuse("use_sliding_window", "Allowed is false: every layer attends to all tokens.");
  }
  for (const std::string& type : config.Texts("layer_types")) {
    if (type == "full_attention") continue;
    throw ModelError("config.json: layer_types holds " + Quoted(type) +
                     ". Allowed is 'full_attention'. Serve a checkpoint without such layers.");
  }
  if (config.Has("quantization_config")) {
    config.Refuse("quantization_config",
                  "It must be absent: weights are F32, BF16 or F16. Take the original checkpoint "
                  "instead of the quantized one.");
  }
}

void ReadBiases(const JsonObject& config, ModelConfig& model) {
  if (model.architecture == Architecture::kQwen2) {
    if (!config.Bool("attention_bias", true)) {
      config.Refuse("attention_bias", "Qwen2ForCausalLM always has q, k and v biases.");
    }
    if (config.Bool("mlp_bias", false)) {
      config.Refuse("mlp_bias", "Qwen2ForCausalLM never has biases there.");
    }
    model.qkv_bias = true;
    return;
  }
  model.qkv_bias = model.output_bias = config.Bool("attention_bias", false);
  model.mlp_bias = config.Bool("mlp_bias", false);
}

std::string ReadDtype(const JsonObject& config) {
  constexpr const char* kNames[] = {"float32", "bfloat16", "float16"};
  const char* field = config.Has("dtype") ? "dtype" : "torch_dtype";
  const auto choice = config.Choice(field, {"float32", "bfloat16", "float16"});
  return choice ? kNames[*choice] : "";
}

}  // namespace

std::string_view ArchitectureName(Architecture architecture) {
  return architecture == Architecture::kLlama ? "LlamaForCausalLM" : "Qwen2ForCausalLM";
}

int32_t ModelConfig::MaxLength() const {
  if (!attention.affine || !attention.affine->fixed_normalizer) return max_position_embeddings;
  return std::min(max_position_embeddings, *attention.affine->fixed_normalizer);
}

ModelConfig ReadModelConfig(const std::string& folder) {
  const std::filesystem::path path(folder);
  const nlohmann::json document = ReadJsonFile(path / "config.json", kMaxConfigBytes);
  const JsonObject config(document, "config.json");
  ModelConfig model;
  model.architecture = ReadArchitecture(config);
  ReadSizes(config, model);
  RefuseUnsupported(config);
  ReadBiases(config, model);
  ReadRope(config, model);
  model.tie_word_embeddings = config.Bool("tie_word_embeddings", false);
  model.torch_dtype = ReadDtype(config);
  model.attention = ReadAttentionSpec(config);
  ReadTokenIds(config, model);
  const std::filesystem::path generation_path = path / "generation_config.json";
  std::error_code no_error;  // a folder that can't be searched has failed above
  if (std::filesystem::exists(generation_path, no_error)) {
    const nlohmann::json generation = ReadJsonFile(generation_path, kMaxConfigBytes);
    ReadGenerationDefaults(JsonObject(generation, "generation_config.json"), model);
  }
  return model;
}

}  // namespace affine
