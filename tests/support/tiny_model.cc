#include "tests/support/tiny_model.h"

#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <vector>

#include "model/checkpoint/expected_tensors.h"
#include "model/checkpoint/model_config.h"

namespace affine {
namespace {

constexpr int kHidden = 32;

nlohmann::json BaseConfig() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"hidden_act", "silu"},
          {"hidden_size", kHidden},
          {"intermediate_size", 48},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"head_dim", 16},
          {"vocab_size", 64},
          {"max_position_embeddings", 512},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 10000.0},
          {"tie_word_embeddings", true},
          {"torch_dtype", "float32"},
          {"eos_token_id", 2}};
}

// Spread enough that logits differ well and alpha meets its ends.
float Scale(const std::string& name) {
  if (name.find("alpha_proj") != std::string::npos) return 0.8f;
  if (name.find("embed") != std::string::npos) return 1.0f;
  return 0.3f;
}

}  // namespace

TinyModel::TinyModel(const nlohmann::json& changes, uint32_t seed) {
  std::string pattern = (std::filesystem::temp_directory_path() / "tiny_model_XXXXXX").string();
  folder_ = mkdtemp(pattern.data());
  nlohmann::json config = BaseConfig();
  config.merge_patch(changes);
  std::ofstream(folder_ / "config.json") << config;

  std::mt19937 engine(seed);
  nlohmann::ordered_json header;
  std::vector<float> data;
  for (const auto& [name, shapes] : ExpectedTensors(ReadModelConfig(folder_))) {
    int64_t count = 1;
    for (int64_t size : shapes[0]) count *= size;
    const size_t begin = data.size() * 4;
    std::normal_distribution<float> normal(0.0f, Scale(name));
    const bool norm = name.find("norm") != std::string::npos;
    const bool mean = name.find("alpha_ma") != std::string::npos;
    for (int64_t i = 0; i < count; ++i) data.push_back(norm ? 1.0f : mean ? 0.4f : normal(engine));
    header[name] = {
        {"dtype", "F32"}, {"shape", shapes[0]}, {"data_offsets", {begin, data.size() * 4}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::ofstream file(folder_ / "model.safetensors", std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), 8);
  file << text;
  file.write(reinterpret_cast<const char*>(data.data()),
             static_cast<std::streamsize>(data.size() * 4));
}

TinyModel::~TinyModel() { std::filesystem::remove_all(folder_); }

void TinyModel::BreakEmbedding(int32_t token) const {
  std::fstream file(folder_ / "model.safetensors", std::ios::binary | std::ios::in | std::ios::out);
  uint64_t length = 0;
  file.read(reinterpret_cast<char*>(&length), 8);
  std::string text(length, ' ');
  file.read(text.data(), static_cast<std::streamsize>(length));
  const auto header = nlohmann::json::parse(text);
  const auto begin =
      header.at("model.embed_tokens.weight").at("data_offsets").at(0).get<uint64_t>();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  file.seekp(static_cast<std::streamoff>(8 + length + begin + uint64_t(token) * kHidden * 4));
  file.write(reinterpret_cast<const char*>(&nan), 4);
}

}  // namespace affine
