#include "tests/model/checkpoint/checkpoint_builder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "model/model_error.h"

namespace affine {

TempFolder::TempFolder() {
  std::string name = testing::TempDir() + "/checkpoint_test_XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed for " + name);
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;  // a destructor can't report it, and the system clears the folder
  std::filesystem::remove_all(path_, ignored);
}

std::string TempFolder::Write(const std::string& name, std::string_view bytes) const {
  const std::filesystem::path path = path_ / name;
  std::filesystem::create_directories(path.parent_path());
  std::filesystem::remove(path);  // some file systems flush a file that is cut and written again
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
  return path;
}

std::string SafetensorsBytes(std::string_view header, std::string_view data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i));
  return bytes.append(header).append(data);
}

std::string ErrorOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const ModelError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no ModelError came";
  return "";
}

CheckpointBuilder::CheckpointBuilder() {
  config = {{"architectures", {"LlamaForCausalLM"}},
            {"hidden_size", 8},
            {"intermediate_size", 12},
            {"num_hidden_layers", 2},
            {"num_attention_heads", 2},
            {"num_key_value_heads", 1},
            {"vocab_size", 16},
            {"max_position_embeddings", 64},
            {"tie_word_embeddings", true}};
  tensors["model.embed_tokens.weight"] = {16, 8};
  tensors["model.norm.weight"] = {8};
  AddToLayers("input_layernorm.weight", {8});
  AddToLayers("post_attention_layernorm.weight", {8});
  AddToLayers("self_attn.q_proj.weight", {8, 8});
  AddToLayers("self_attn.k_proj.weight", {4, 8});
  AddToLayers("self_attn.v_proj.weight", {4, 8});
  AddToLayers("self_attn.o_proj.weight", {8, 8});
  AddToLayers("mlp.gate_proj.weight", {12, 8});
  AddToLayers("mlp.up_proj.weight", {12, 8});
  AddToLayers("mlp.down_proj.weight", {8, 12});
}

void CheckpointBuilder::AddToLayers(const std::string& suffix, const std::vector<int64_t>& shape) {
  for (int layer = 0; layer < config["num_hidden_layers"].get<int>(); ++layer) {
    tensors["model.layers." + std::to_string(layer) + "." + suffix] = shape;
  }
}

std::string CheckpointBuilder::File(const std::function<bool(const std::string&)>& chosen) const {
  nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const auto& [name, shape] : tensors) {
    if (!chosen(name)) continue;
    const size_t begin = data.size();
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    for (int64_t i = 0; i < elements; ++i) {
      const auto value = static_cast<float>(i);
      data.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, data.size()}}};
  }
  return SafetensorsBytes(header.dump(), data);
}

std::string CheckpointBuilder::File() const {
  return File([](const std::string&) { return true; });
}

void CheckpointBuilder::Write(const TempFolder& folder) const {
  folder.Write("config.json", config.dump());
  folder.Write("model.safetensors", File());
}

}  // namespace affine
