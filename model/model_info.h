// What a loaded model says of itself; everything a scheduler, a validator or a page needs to know.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/attention_spec.h"

namespace affine {

struct ModelInfo {
  std::string architecture;  // "LlamaForCausalLM" or "Qwen2ForCausalLM"
  std::string dtype;         // "float32" or "bfloat16": the type of the cache
  std::string weights;       // of the linear layers: "float32", "bfloat16", "int8" or "int4"
  std::string device;        // "cpu"
  AttentionSpec attention;
  int32_t vocab_size = 0;
  int32_t max_model_len = 0;  // prompt and output tokens together
  int32_t num_layers = 0;
  int32_t num_heads = 0;
  int32_t num_kv_heads = 0;
  int32_t head_dim = 0;
  int32_t hidden_size = 0;
  int64_t num_parameters = 0;
  int32_t block_size = 0;  // tokens in a cache block
  int32_t num_blocks = 0;
  int64_t block_bytes = 0;  // of one cache block over all layers, value sums included
  int64_t weight_bytes = 0;
  int32_t bos_token_id = -1;  // -1: the model has none
  std::vector<int32_t> eos_token_ids;
  // Defaults for requests that leave them out, from generation_config.json.
  float default_temperature = 1.0f;
  int32_t default_top_k = 0;
  float default_top_p = 1.0f;
  float default_min_p = 0.0f;
  float default_repetition_penalty = 1.0f;
};

}  // namespace affine
