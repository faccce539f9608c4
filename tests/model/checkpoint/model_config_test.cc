#include "model/checkpoint/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/checkpoint/checkpoint_builder.h"

namespace affine {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class ModelConfigTest : public testing::Test {
 protected:
  ModelConfig Read() {
    folder_.Write("config.json", config_.dump());
    return ReadModelConfig(folder_.path());
  }
  std::string ErrorWith(const char* field, const nlohmann::json& value) {
    config_ = CheckpointBuilder().config;
    config_[field] = value;
    return ErrorOf([&] { Read(); });
  }
  TempFolder folder_;
  nlohmann::json config_ = CheckpointBuilder().config;
};

TEST_F(ModelConfigTest, ReadsALlama) {
  const ModelConfig model = Read();
  EXPECT_EQ(model.architecture, Architecture::kLlama);
  EXPECT_EQ(ArchitectureName(model.architecture), "LlamaForCausalLM");
  EXPECT_EQ(model.hidden_size, 8);
  EXPECT_EQ(model.intermediate_size, 12);
  EXPECT_EQ(model.num_layers, 2);
  EXPECT_EQ(model.num_heads, 2);
  EXPECT_EQ(model.num_kv_heads, 1);
  EXPECT_EQ(model.head_dim, 4);
  EXPECT_EQ(model.vocab_size, 16);
  EXPECT_EQ(model.MaxLength(), 64);
  EXPECT_TRUE(model.tie_word_embeddings);
  EXPECT_FALSE(model.qkv_bias || model.output_bias || model.mlp_bias);
  EXPECT_EQ(model.rms_norm_eps, 1e-6);
  EXPECT_EQ(model.torch_dtype, "");
}

TEST_F(ModelConfigTest, LlamaTakesItsBiasesFromTheConfig) {
  config_["attention_bias"] = true;
  config_["mlp_bias"] = true;
  const ModelConfig model = Read();
  EXPECT_TRUE(model.qkv_bias && model.output_bias && model.mlp_bias);
}

TEST_F(ModelConfigTest, Qwen2AlwaysHasQueryKeyAndValueBiases) {
  config_["architectures"] = {"Qwen2ForCausalLM"};
  config_["sliding_window"] = 32768;
  config_["use_sliding_window"] = false;
  config_["layer_types"] = {"full_attention", "full_attention"};
  const ModelConfig model = Read();
  EXPECT_EQ(ArchitectureName(model.architecture), "Qwen2ForCausalLM");
  EXPECT_TRUE(model.qkv_bias);
  EXPECT_FALSE(model.output_bias || model.mlp_bias);
  config_["attention_bias"] = false;
  EXPECT_THAT(ErrorOf([&] { Read(); }), HasSubstr("attention_bias is false"));
}

TEST_F(ModelConfigTest, ReadsBothSpellingsOfTheDtype) {
  config_["torch_dtype"] = "bfloat16";
  EXPECT_EQ(Read().torch_dtype, "bfloat16");
  config_.erase("torch_dtype");
  config_["dtype"] = "float32";
  EXPECT_EQ(Read().torch_dtype, "float32");
  EXPECT_THAT(ErrorWith("torch_dtype", "int8"), AllOf(HasSubstr("\"int8\""), HasSubstr("float16")));
}

TEST_F(ModelConfigTest, AFixedNormalizerCapsTheLength) {
  config_["attention"] = {{"affine", {{"alpha_activation", "sigmoid"}, {"normalizer", 48}}}};
  EXPECT_EQ(Read().MaxLength(), 48);
  config_["attention"]["affine"]["normalizer"] = 4096;
  EXPECT_EQ(Read().MaxLength(), 64);
  config_["attention"]["affine"]["normalizer"] = "visible";
  EXPECT_EQ(Read().MaxLength(), 64);
}

TEST_F(ModelConfigTest, HeadDimMayDifferFromHiddenOverHeads) {
  config_["head_dim"] = 6;
  EXPECT_EQ(Read().head_dim, 6);
  config_.erase("head_dim");
  config_["num_key_value_heads"] = nullptr;
  EXPECT_EQ(Read().num_kv_heads, 2);
}

TEST_F(ModelConfigTest, GenerationConfigIsReadWhenItIsThere) {
  config_["eos_token_id"] = 2;
  folder_.Write("generation_config.json", R"({"eos_token_id": [3, 4], "temperature": 0.5})");
  const ModelConfig model = Read();
  EXPECT_THAT(model.eos_token_ids, ElementsAre(3, 4));
  EXPECT_EQ(model.default_temperature, 0.5f);
}

TEST_F(ModelConfigTest, RefusesWhatIsNotBuiltInByName) {
  EXPECT_THAT(ErrorWith("architectures", {"MistralForCausalLM"}),
              AllOf(HasSubstr("\"MistralForCausalLM\""), HasSubstr("LlamaForCausalLM")));
  EXPECT_THAT(ErrorWith("architectures", nullptr), HasSubstr("architectures is absent"));
  EXPECT_THAT(ErrorWith("hidden_act", "gelu"), AllOf(HasSubstr("\"gelu\""), HasSubstr("\"silu\"")));
  EXPECT_THAT(ErrorWith("use_sliding_window", true), HasSubstr("use_sliding_window is true"));
  EXPECT_THAT(ErrorWith("layer_types", {"sliding_attention"}), HasSubstr("\"sliding_attention\""));
  EXPECT_THAT(ErrorWith("quantization_config", {{"bits", 4}}), HasSubstr("quantization_config"));
}

TEST_F(ModelConfigTest, ChecksEverySizeBeforeItIsUsed) {
  for (const char* field :
       {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "vocab_size", "max_position_embeddings", "head_dim"}) {
    for (const nlohmann::json& bad :
         std::vector<nlohmann::json>{0, -8, 2147483647, 1e30, 8.5, "8", 9223372036854775807}) {
      EXPECT_THAT(ErrorWith(field, bad), HasSubstr(std::string(field) + " is ")) << bad;
    }
  }
  EXPECT_THAT(ErrorWith("vocab_size", nullptr), HasSubstr("vocab_size is absent"));
  EXPECT_THAT(ErrorWith("rms_norm_eps", -1e-6), HasSubstr("rms_norm_eps"));
}

TEST_F(ModelConfigTest, RefusesHeadsThatDoNotDivide) {
  EXPECT_THAT(ErrorWith("num_attention_heads", 3), HasSubstr("divides hidden_size (8)"));
  EXPECT_THAT(ErrorWith("num_key_value_heads", 4), HasSubstr("must divide num_attention_heads"));
  EXPECT_THAT(ErrorWith("head_dim", 3), HasSubstr("even number"));
  EXPECT_THAT(ErrorWith("num_attention_heads", 8), HasSubstr("a head has 1 dimensions"));
}

TEST_F(ModelConfigTest, NamesAFolderWithoutConfig) {
  EXPECT_THAT(ErrorOf([&] { ReadModelConfig(folder_.path()); }),
              AllOf(HasSubstr("config.json"), HasSubstr("No such file")));
}

}  // namespace
}  // namespace affine
