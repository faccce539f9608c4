// What a checkpoint's config.json and generation_config.json say, checked for ranges.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/attention_spec.h"

namespace affine {

enum class Architecture { kLlama, kQwen2 };

/// "LlamaForCausalLM" or "Qwen2ForCausalLM".
std::string_view ArchitectureName(Architecture architecture);

/// How rotary frequencies are stretched beyond the length of pre-training.
struct RopeScaling {
  enum class Type { kNone, kLinear, kLlama3 };
  Type type = Type::kNone;
  double factor = 1.0;  // >= 1; linear and llama3
  // llama3 alone: wavelengths above original / low_freq_factor are divided by `factor`, those
  // below original / high_freq_factor are kept, those between are blended. low < high.
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  int32_t original_max_position_embeddings = 0;  // tokens
};

struct ModelConfig {
  Architecture architecture = Architecture::kLlama;
  int32_t hidden_size = 0;
  int32_t intermediate_size = 0;
  int32_t num_layers = 0;
  int32_t num_heads = 0;  // a multiple of num_kv_heads
  int32_t num_kv_heads = 0;
  int32_t head_dim = 0;  // even; num_heads * head_dim may differ from hidden_size
  int32_t vocab_size = 0;
  int32_t max_position_embeddings = 0;  // tokens
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;
  RopeScaling rope_scaling;
  bool tie_word_embeddings = false;  // lm_head is model.embed_tokens
  bool qkv_bias = false;             // q_proj, k_proj, v_proj
  bool output_bias = false;          // o_proj
  bool mlp_bias = false;             // gate_proj, up_proj, down_proj
  AttentionSpec attention;
  std::string torch_dtype;    // "float32", "bfloat16" or "float16"; empty where it is not said
  int32_t bos_token_id = -1;  // -1: the model has none
  std::vector<int32_t> eos_token_ids;  // generation_config.json wins over config.json
  // Defaults for requests that leave them out, from generation_config.json.
  float default_temperature = 1.0f;         // >= 0
  int32_t default_top_k = 0;                // 0: all
  float default_top_p = 1.0f;               // (0, 1]
  float default_min_p = 0.0f;               // [0, 1]
  float default_repetition_penalty = 1.0f;  // (0, 100]

  /// Tokens that the longest sequence may have: max_position_embeddings, or the fixed
  /// normalizer N of affine attention where that is less.
  int32_t MaxLength() const;
};

/// Reads `folder`/config.json and, if it is there, `folder`/generation_config.json. Both spellings
/// of transformers are understood (rope_theta, rope_scaling, torch_dtype; rope_parameters, dtype).
/// Throws ModelError naming the field, its value and what is allowed.
ModelConfig ReadModelConfig(const std::string& folder);

}  // namespace affine
