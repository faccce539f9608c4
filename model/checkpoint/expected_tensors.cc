#include "model/checkpoint/expected_tensors.h"

namespace affine {
namespace {

/// Collects the tensors of a model.
class TensorTable {
 public:
  explicit TensorTable(const ModelConfig& config) : config_(config) {}

  std::map<std::string, AllowedShapes> Build() {
    const int64_t hidden = config_.hidden_size;
    Add("model.embed_tokens.weight", {config_.vocab_size, hidden});
    Add("model.norm.weight", {hidden});
    if (!config_.tie_word_embeddings) Add("lm_head.weight", {config_.vocab_size, hidden});
    for (int32_t i = 0; i < config_.num_layers; ++i) {
      const std::string layer = "model.layers." + std::to_string(i) + ".";
      Add(layer + "input_layernorm.weight", {hidden});
      Add(layer + "post_attention_layernorm.weight", {hidden});
      AddAttention(layer + "self_attn.");
      AddMlp(layer + "mlp.");
    }
    return std::move(tensors_);
  }

 private:
  void Add(const std::string& name, std::vector<int64_t> shape) { tensors_[name] = {shape}; }

  void AddLinear(const std::string& name, int64_t out, int64_t in, bool bias) {
    Add(name + ".weight", {out, in});
    if (bias) Add(name + ".bias", {out});
  }

  void AddAttention(const std::string& prefix) {
    const int64_t hidden = config_.hidden_size;
    const int64_t heads = config_.num_heads;
    const int64_t query = heads * config_.head_dim;
    const int64_t key = int64_t{config_.num_kv_heads} * config_.head_dim;
    AddLinear(prefix + "q_proj", query, hidden, config_.qkv_bias);
    AddLinear(prefix + "k_proj", key, hidden, config_.qkv_bias);
    AddLinear(prefix + "v_proj", key, hidden, config_.qkv_bias);
    AddLinear(prefix + "o_proj", hidden, query, config_.output_bias);
    if (config_.attention.denominator == Denominator::kLearnedSink) Add(prefix + "sinks", {heads});
    if (config_.attention.affine) {
      Add(prefix + "alpha_proj.weight", {heads, hidden});
      tensors_[prefix + "alpha_ma"] = {{heads}, {1}};  // one for each head, or one for the layer
    }
    if (config_.attention.gate != Gate::kNone) {
      const bool headwise = config_.attention.gate == Gate::kHeadwise;
      Add(prefix + "gate_proj.weight", {headwise ? heads : query, hidden});
    }
  }

  void AddMlp(const std::string& prefix) {
    const int64_t hidden = config_.hidden_size;
    const int64_t inner = config_.intermediate_size;
    AddLinear(prefix + "gate_proj", inner, hidden, config_.mlp_bias);
    AddLinear(prefix + "up_proj", inner, hidden, config_.mlp_bias);
    AddLinear(prefix + "down_proj", hidden, inner, config_.mlp_bias);
  }

  const ModelConfig& config_;
  std::map<std::string, AllowedShapes> tensors_;
};

}  // namespace

std::map<std::string, AllowedShapes> ExpectedTensors(const ModelConfig& config) {
  return TensorTable(config).Build();
}

bool IsHarmlessExtra(std::string_view name, const ModelConfig& config) {
  if (name == "lm_head.weight") return config.tie_word_embeddings;
  return name.ends_with("rotary_emb.inv_freq");
}

}  // namespace affine
