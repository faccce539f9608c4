#include "model/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/model/checkpoint/checkpoint_builder.h"

namespace affine {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class CheckpointTest : public testing::Test {
 protected:
  void SetAttention(const nlohmann::json& attention) { builder_.config["attention"] = attention; }
  std::string OpenError() {
    builder_.Write(folder_);
    return ErrorOf([&] { Checkpoint checkpoint(folder_.path()); });
  }
  void ExpectOpens() {
    builder_.Write(folder_);
    EXPECT_NO_THROW(Checkpoint checkpoint(folder_.path()));
  }
  const nlohmann::json affine_ = {{"alpha_activation", "sigmoid"}, {"normalizer", "visible"}};
  TempFolder folder_;
  CheckpointBuilder builder_;
};

TEST_F(CheckpointTest, GivesTensorsAndSizes) {
  builder_.Write(folder_);
  const Checkpoint checkpoint(folder_.path());
  EXPECT_THAT(checkpoint.tensor("model.layers.1.mlp.down_proj.weight").shape, ElementsAre(8, 12));
  EXPECT_EQ(checkpoint.dtype(), TensorDtype::kFloat32);
  // Embeddings 128, final norm 8, and in each layer: 16 of norms, 192 of attention, 288 of MLP.
  EXPECT_EQ(checkpoint.num_parameters(), 128 + 8 + 2 * (16 + 192 + 288));
  EXPECT_EQ(checkpoint.weight_bytes(), 4 * checkpoint.num_parameters());
  EXPECT_FALSE(checkpoint.contains("lm_head.weight"));
  EXPECT_THAT(ErrorOf([&] { checkpoint.tensor("lm_head.weight"); }),
              HasSubstr("\"lm_head.weight\""));
}

TEST_F(CheckpointTest, ViewsOutliveAMove) {
  builder_.Write(folder_);
  Checkpoint first(folder_.path());
  const TensorView* view = &first.tensor("model.norm.weight");
  const Checkpoint second = std::move(first);
  EXPECT_EQ(&second.tensor("model.norm.weight"), view);
  EXPECT_EQ(view->data.size(), 32u);
}

TEST_F(CheckpointTest, NamesEveryFaultInOneError) {
  builder_.tensors.erase("model.norm.weight");
  builder_.tensors["model.layers.2.mlp.up_proj.weight"] = {12, 8};
  builder_.tensors["model.layers.0.self_attn.k_proj.weight"] = {8, 4};
  EXPECT_THAT(OpenError(),
              AllOf(HasSubstr("missing: \"model.norm.weight\" of shape [8]"),
                    HasSubstr("unexpected: \"model.layers.2.mlp.up_proj.weight\""),
                    HasSubstr("wrong shape: \"model.layers.0.self_attn.k_proj.weight\" has [8, 4]; "
                              "allowed is [4, 8]")));
}

TEST_F(CheckpointTest, NamesOverlapsBesideMissingTensors) {
  builder_.tensors.erase("model.norm.weight");
  std::string bytes = builder_.File();
  const std::string offsets = "\"data_offsets\":[0,512]";  // of the embeddings, first by name
  const size_t at = bytes.find(offsets);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, offsets.size(), "\"data_offsets\":[4,516]");
  folder_.Write("config.json", builder_.config.dump());
  folder_.Write("model.safetensors", bytes);
  EXPECT_THAT(ErrorOf([&] { Checkpoint checkpoint(folder_.path()); }),
              AllOf(HasSubstr("overlapping: "), HasSubstr("missing: \"model.norm.weight\""),
                    Not(HasSubstr("missing: 'model.embed_tokens"))));
}

TEST_F(CheckpointTest, CapsTheListOfAKind) {
  builder_.config["num_hidden_layers"] = 1000;
  EXPECT_THAT(OpenError(), HasSubstr("missing: and 8962 more"));  // 998 layers of 9, less 20
}

TEST_F(CheckpointTest, UntiedEmbeddingsNeedALmHead) {
  builder_.config["tie_word_embeddings"] = false;
  EXPECT_THAT(OpenError(), HasSubstr("missing: \"lm_head.weight\" of shape [16, 8]"));
  builder_.tensors["lm_head.weight"] = {16, 8};
  ExpectOpens();
}

TEST_F(CheckpointTest, IgnoresHarmlessExtras) {
  builder_.tensors["lm_head.weight"] = {16, 8};
  builder_.AddToLayers("self_attn.rotary_emb.inv_freq", {2});
  builder_.Write(folder_);
  const Checkpoint checkpoint(folder_.path());
  EXPECT_FALSE(checkpoint.contains("lm_head.weight"));
  EXPECT_FALSE(checkpoint.contains("model.layers.0.self_attn.rotary_emb.inv_freq"));
  EXPECT_EQ(checkpoint.num_parameters(), 1128);
}

TEST_F(CheckpointTest, AffineNeedsItsProjectionAndItsMean) {
  SetAttention({{"affine", affine_}});
  builder_.AddToLayers("self_attn.alpha_proj.weight", {2, 8});
  EXPECT_THAT(OpenError(), HasSubstr("missing: \"model.layers.0.self_attn.alpha_ma\""));
  builder_.AddToLayers("self_attn.alpha_ma", {2});
  ExpectOpens();
  builder_.AddToLayers("self_attn.alpha_ma", {1});
  ExpectOpens();
  builder_.AddToLayers("self_attn.alpha_ma", {3});
  EXPECT_THAT(OpenError(), HasSubstr("has [3]; allowed is [2] or [1]"));
}

TEST_F(CheckpointTest, AffineTensorsWithoutTheConfigKeyAreUnexpected) {
  builder_.AddToLayers("self_attn.alpha_proj.weight", {2, 8});
  EXPECT_THAT(OpenError(), HasSubstr("unexpected: \"model.layers.0.self_attn.alpha_proj.weight\""));
}

TEST_F(CheckpointTest, LearnedSinksAreOneForEachHead) {
  SetAttention({{"denominator", "learned_sink"}});
  EXPECT_THAT(OpenError(), HasSubstr("missing: \"model.layers.1.self_attn.sinks\" of shape [2]"));
  builder_.AddToLayers("self_attn.sinks", {2});
  ExpectOpens();
}

TEST_F(CheckpointTest, GatesHaveTheShapeOfTheirKind) {
  SetAttention({{"gate", "headwise"}});
  builder_.AddToLayers("self_attn.gate_proj.weight", {2, 8});
  ExpectOpens();
  SetAttention({{"gate", "elementwise"}});
  EXPECT_THAT(OpenError(), HasSubstr("has [2, 8]; allowed is [8, 8]"));
  builder_.AddToLayers("self_attn.gate_proj.weight", {8, 8});
  ExpectOpens();
}

TEST_F(CheckpointTest, Qwen2NeedsQueryKeyAndValueBiases) {
  builder_.config["architectures"] = {"Qwen2ForCausalLM"};
  EXPECT_THAT(OpenError(), HasSubstr("missing: \"model.layers.0.self_attn.q_proj.bias\""));
  builder_.AddToLayers("self_attn.q_proj.bias", {8});
  builder_.AddToLayers("self_attn.k_proj.bias", {4});
  builder_.AddToLayers("self_attn.v_proj.bias", {4});
  ExpectOpens();
}

TEST_F(CheckpointTest, LlamaWithBiasesNeedsAllOfThem) {
  builder_.config["attention_bias"] = true;
  builder_.config["mlp_bias"] = true;
  const std::string error = OpenError();
  for (const char* name :
       {"self_attn.q_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
    EXPECT_THAT(error, HasSubstr("missing: \"model.layers.0." + std::string(name) + ".bias\""));
  }
}

class ShardedCheckpointTest : public CheckpointTest {
 protected:
  /// The first layer in one file, all else in another.
  void WriteShards() {
    const auto first = [](const std::string& name) { return name.find("layers.0") != name.npos; };
    folder_.Write("config.json", builder_.config.dump());
    folder_.Write("a.safetensors", builder_.File(first));
    folder_.Write("b.safetensors", builder_.File([&](const auto& name) { return !first(name); }));
    for (const auto& [name, shape] : builder_.tensors) {
      map_[name] = first(name) ? "a.safetensors" : "b.safetensors";
    }
  }
  void WriteIndex() {
    folder_.Write("model.safetensors.index.json", nlohmann::json{{"weight_map", map_}}.dump());
  }
  nlohmann::json map_;
};

TEST_F(ShardedCheckpointTest, OpensWithAndWithoutAnIndex) {
  WriteShards();
  EXPECT_EQ(Checkpoint(folder_.path()).num_parameters(), 1128);
  WriteIndex();
  EXPECT_EQ(Checkpoint(folder_.path()).num_parameters(), 1128);
}

TEST_F(ShardedCheckpointTest, NamesATensorThatTheIndexPutsElsewhere) {
  WriteShards();
  map_["model.norm.weight"] = "a.safetensors";
  map_["ghost"] = "b.safetensors";
  WriteIndex();
  EXPECT_THAT(ErrorOf([&] { Checkpoint checkpoint(folder_.path()); }),
              AllOf(HasSubstr("\"model.norm.weight\" in a.safetensors, where the index puts it"),
                    HasSubstr("\"ghost\" in b.safetensors")));
}

TEST_F(ShardedCheckpointTest, NamesAShardThatIsNotThere) {
  WriteShards();
  map_["model.norm.weight"] = "c.safetensors";
  WriteIndex();
  EXPECT_THAT(ErrorOf([&] { Checkpoint checkpoint(folder_.path()); }), HasSubstr("c.safetensors"));
}

TEST_F(ShardedCheckpointTest, RefusesATensorInTwoFiles) {
  WriteShards();
  folder_.Write("b.safetensors", builder_.File());
  EXPECT_THAT(ErrorOf([&] { Checkpoint checkpoint(folder_.path()); }),
              HasSubstr("twice: \"model.layers.0.input_layernorm.weight\" in a.safetensors and in "
                        "b.safetensors"));
}

}  // namespace
}  // namespace affine
