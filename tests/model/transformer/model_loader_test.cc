#include "model/model_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_error.h"
#include "tests/support/tiny_model.h"

namespace affine {
namespace {

using testing::AllOf;
using testing::HasSubstr;

LoadOptions Options(const TinyModel& tiny) {
  LoadOptions options;
  options.path = tiny.path();
  options.kv_cache_bytes = 8 << 20;
  options.num_threads = 2;
  return options;
}

std::string ErrorOf(const LoadOptions& options) {
  try {
    LoadLanguageModel(options);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

TEST(ModelLoaderTest, SaysWhatTheModelIs) {
  const TinyModel tiny;
  const auto model = LoadLanguageModel(Options(tiny));
  const ModelInfo& info = model->info();
  EXPECT_EQ(info.architecture, "LlamaForCausalLM");
  EXPECT_EQ(info.dtype, "float32");
  EXPECT_EQ(info.device, "cpu");
  EXPECT_EQ(info.max_model_len, 512);
  EXPECT_EQ(info.vocab_size, 64);
  EXPECT_EQ(info.eos_token_ids, std::vector<int32_t>{2});
  EXPECT_EQ(info.num_blocks, (8 << 20) / info.block_bytes);
  EXPECT_GT(info.weight_bytes, 0);
}

TEST(ModelLoaderTest, ReportsProgressUpToTheEnd) {
  const TinyModel tiny;
  LoadOptions options = Options(tiny);
  double last = 0.0;
  options.progress = [&](double done) {
    EXPECT_GE(done, last);
    last = done;
  };
  LoadLanguageModel(options);
  EXPECT_EQ(last, 1.0);
}

TEST(ModelLoaderTest, ConvertsToTheTypeThatWasAskedFor) {
  const TinyModel tiny;
  LoadOptions options = Options(tiny);
  options.dtype = "bfloat16";
  EXPECT_EQ(LoadLanguageModel(options)->info().dtype, "bfloat16");
}

TEST(ModelLoaderTest, IntegerWeightsMakeAllElseBfloat16) {
  const TinyModel tiny;  // stored in float32
  LoadOptions options = Options(tiny);
  const ModelInfo plain = LoadLanguageModel(options)->info();
  EXPECT_EQ(plain.weights, "float32");
  options.weights = "int8";
  const ModelInfo int8 = LoadLanguageModel(options)->info();
  EXPECT_EQ(int8.weights, "int8");
  EXPECT_EQ(int8.dtype, "bfloat16");
  EXPECT_LT(int8.weight_bytes, plain.weight_bytes / 3);
  options.weights = "int4";
  EXPECT_LT(LoadLanguageModel(options)->info().weight_bytes, int8.weight_bytes * 3 / 4);
}

TEST(ModelLoaderTest, RefusesWhatIsNotThereWithAReason) {
  const TinyModel tiny;
  LoadOptions options = Options(tiny);
  options.device = "cuda";
  EXPECT_THAT(ErrorOf(options), AllOf(HasSubstr("--device=cuda"), HasSubstr("--device=cpu")));
  options = Options(tiny);
  options.dtype = "float16";
  EXPECT_THAT(ErrorOf(options), AllOf(HasSubstr("float16"), HasSubstr("bfloat16")));
  options = Options(tiny);
  options.weights = "int3";
  EXPECT_THAT(ErrorOf(options), AllOf(HasSubstr("--weights=int3"), HasSubstr("int8 or int4")));
  options.weights = "int4";
  options.dtype = "float32";
  EXPECT_THAT(ErrorOf(options), AllOf(HasSubstr("--weights=int4"), HasSubstr("--dtype=float32"),
                                      HasSubstr("leave --dtype out")));
  options = Options(tiny);
  options.block_size = 24;
  EXPECT_THAT(ErrorOf(options), AllOf(HasSubstr("24"), HasSubstr("multiple of 16")));
  options = Options(tiny);
  options.max_model_len = 513;
  EXPECT_THAT(ErrorOf(options), AllOf(HasSubstr("513"), HasSubstr("512")));
}

TEST(ModelLoaderTest, ACacheTooSmallForOneSequenceSaysHowMuchItTakes) {
  const TinyModel tiny;
  LoadOptions options = Options(tiny);
  options.kv_cache_bytes = 1 << 16;
  EXPECT_THAT(ErrorOf(options),
              AllOf(HasSubstr("--kv_cache_gib"), HasSubstr("512"), HasSubstr("MiB")));
}

TEST(ModelLoaderTest, WhatDoesNotFitIntoMemoryIsRefusedBeforeWeightsAreRead) {
  const TinyModel tiny;
  LoadOptions options = Options(tiny);
  options.kv_cache_bytes = int64_t{1} << 42;
  options.progress = [](double) { ADD_FAILURE() << "read weights"; };
  EXPECT_THAT(ErrorOf(options), AllOf(HasSubstr("4194304 MiB"), HasSubstr("--kv_cache_gib")));
}

TEST(ModelLoaderTest, AFixedNormalizerCapsTheLength) {
  const nlohmann::json fixed = {
      {"attention", {{"affine", {{"alpha_activation", "sigmoid"}, {"normalizer", 128}}}}}};
  const TinyModel tiny(fixed);
  EXPECT_EQ(LoadLanguageModel(Options(tiny))->info().max_model_len, 128);
  LoadOptions options = Options(tiny);
  options.max_model_len = 129;
  EXPECT_THAT(ErrorOf(options), AllOf(HasSubstr("129"), HasSubstr("128")));
}

TEST(ModelLoaderTest, HeadSizesThatKernelsDoNotCoverAreNamed) {
  const nlohmann::json narrow = {{"head_dim", 8}};
  const TinyModel tiny(narrow);
  EXPECT_THAT(ErrorOf(Options(tiny)),
              AllOf(HasSubstr("head_dim"), HasSubstr("8"), HasSubstr("16")));
}

}  // namespace
}  // namespace affine
