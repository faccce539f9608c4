// Damaged checkpoints never do more than throw ModelError. Best run with -fsanitize=address.
#include <gtest/gtest.h>

#include <random>

#include "model/checkpoint/checkpoint.h"
#include "model/model_error.h"
#include "tests/model/checkpoint/checkpoint_builder.h"

namespace affine {
namespace {

/// Damages one file of a sound checkpoint again and again, with a seed of its own.
class CheckpointFuzzTest : public testing::Test {
 protected:
  CheckpointFuzzTest() { builder_.Write(folder_); }

  /// Opens the folder and reads every byte of every tensor. True if it opened.
  bool Opens() {
    try {
      const Checkpoint checkpoint(folder_.path());
      for (const auto& [name, shape] : builder_.tensors) {
        if (!checkpoint.contains(name)) continue;
        for (const std::byte byte : checkpoint.tensor(name).data)
          sum_ += std::to_integer<int>(byte);
      }
      return true;
    } catch (const ModelError& error) {
      EXPECT_STRNE(error.what(), "");
      return false;
    }
  }

  /// Writes `name` with up to four bytes changed in its first `reach` bytes, `rounds` times.
  /// Returns how often the checkpoint still opened.
  int Damage(const std::string& name, const std::string& sound, size_t reach, int rounds) {
    int opened = 0;
    for (int round = 0; round < rounds; ++round) {
      std::string bytes = sound;
      for (uint32_t change = random_() % 4 + 1; change > 0; --change) {
        char& byte = bytes[random_() % std::min(reach, bytes.size())];
        // Half of the changes turn one bit, half put a byte that JSON cares about.
        byte = random_() % 2 ? byte ^ static_cast<char>(1 << random_() % 8)
                             : "0123456789-.,:[]{}\"\\eE\xff"[random_() % 23];
      }
      if (random_() % 16 == 0) bytes.resize(random_() % bytes.size());
      folder_.Write(name, bytes);
      opened += Opens() ? 1 : 0;
    }
    folder_.Write(name, sound);
    return opened;
  }

  std::mt19937 random_{20260223};
  TempFolder folder_;
  CheckpointBuilder builder_;
  int64_t sum_ = 0;
};

TEST_F(CheckpointFuzzTest, DamagedSafetensorsHeadersThrowOrOpen) {
  const std::string sound = builder_.File();
  const size_t header_bytes = sound.size() - 4 * 1128;
  EXPECT_LT(Damage("model.safetensors", sound, header_bytes, 4000), 400);
  EXPECT_TRUE(Opens());
}

TEST_F(CheckpointFuzzTest, DamagedDataOpensUnlessItIsCutShort) {
  const std::string sound = builder_.File();
  int opened = 0;
  for (int round = 0; round < 300; ++round) {
    std::string bytes = sound;
    bytes[bytes.size() - 1 - random_() % (4 * 1128)] ^= static_cast<char>(1 + random_() % 255);
    folder_.Write("model.safetensors", bytes);
    opened += Opens() ? 1 : 0;
  }
  EXPECT_EQ(opened, 300);
}

TEST_F(CheckpointFuzzTest, DamagedConfigsThrowOrOpen) {
  builder_.config["attention"] = {
      {"denominator", "learned_sink"},
      {"affine", {{"alpha_activation", "sigmoid"}, {"normalizer", 2048}}},
      {"gate", "headwise"}};
  builder_.config["rope_parameters"] = {{"rope_type", "linear"}, {"factor", 2.0}};
  builder_.AddToLayers("self_attn.sinks", {2});
  builder_.AddToLayers("self_attn.alpha_proj.weight", {2, 8});
  builder_.AddToLayers("self_attn.alpha_ma", {2});
  builder_.AddToLayers("self_attn.gate_proj.weight", {2, 8});
  builder_.Write(folder_);
  ASSERT_TRUE(Opens());
  const std::string sound = builder_.config.dump();
  EXPECT_LT(Damage("config.json", sound, sound.size(), 3000), 1500);
  EXPECT_TRUE(Opens());
}

TEST_F(CheckpointFuzzTest, DamagedIndicesThrowOrOpen) {
  std::filesystem::rename(folder_.path() + "/model.safetensors", folder_.path() + "/a.safetensors");
  nlohmann::json map;
  for (const auto& [name, shape] : builder_.tensors) map[name] = "a.safetensors";
  const std::string sound = nlohmann::json{{"weight_map", map}}.dump();
  folder_.Write("model.safetensors.index.json", sound);
  ASSERT_TRUE(Opens());
  EXPECT_LT(Damage("model.safetensors.index.json", sound, sound.size(), 2000), 400);
  EXPECT_TRUE(Opens());
}

}  // namespace
}  // namespace affine
