#include "model/transformer/memory_need.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "model/model_error.h"
#include "model/model_loader.h"
#include "tests/support/tiny_model.h"

namespace affine {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int64_t kMib = int64_t{1} << 20;

std::string ErrorOf(const MemoryNeed& need, std::optional<int64_t> available) {
  try {
    CheckMemory(need, available);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

TEST(MemoryNeedTest, WeightsCacheAndStepCountTogether) {
  const MemoryNeed need = {.weights = 3 * kMib, .cache = 2 * kMib, .step = kMib};
  EXPECT_EQ(ErrorOf(need, 6 * kMib), "");
  EXPECT_NE(ErrorOf(need, 6 * kMib - 1), "");
}

TEST(MemoryNeedTest, TheErrorNamesEachPartTheLimitAndTheRemedy) {
  const MemoryNeed need = {.weights = 300 * kMib, .cache = 4096 * kMib, .step = kMib / 2};
  EXPECT_THAT(ErrorOf(need, 2000 * kMib),
              AllOf(HasSubstr("weights (300 MiB)"), HasSubstr("key-value cache (4096 MiB)"),
                    HasSubstr("buffers (1 MiB)"), HasSubstr("take 4397 MiB"),
                    HasSubstr("can have 2000 MiB"), HasSubstr("lower --kv_cache_gib or")));
}

TEST(MemoryNeedTest, WhereNothingIsKnownNothingIsRefused) {
  EXPECT_EQ(ErrorOf({.weights = int64_t{1} << 60}, std::nullopt), "");
}

TEST(MemoryNeedTest, WeightBytesAreWhatLoadingPacksOrALittleLess) {
  const TinyModel tiny({{"hidden_size", 256}, {"intermediate_size", 512}});
  for (const auto& [weights, format] :
       {std::pair("auto", WeightFormat::kFloat32), std::pair("int8", WeightFormat::kInt8),
        std::pair("int4", WeightFormat::kInt4)}) {
    LoadOptions options;
    options.path = tiny.path();
    options.kv_cache_bytes = 8 << 20;
    options.weights = weights;
    const ModelInfo info = LoadLanguageModel(options)->info();
    const auto packed = static_cast<double>(info.weight_bytes);
    EXPECT_NEAR(packed / static_cast<double>(WeightBytes(ReadModelConfig(tiny.path()),
                                                         info.num_parameters, format)),
                1.0, 0.03)
        << weights;
  }
}

int64_t AllocatedBytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

// Weights and cache are mapped, not allocated: what is left on the heap are the buffers.
TEST(MemoryNeedTest, StepBytesAreWhatLoadingAllocates) {
  for (const char* gate : {"none", "headwise", "elementwise"}) {
    const nlohmann::json wide = {{"hidden_size", 256},
                                 {"intermediate_size", 512},
                                 {"head_dim", 64},
                                 {"vocab_size", 65536},
                                 {"attention", {{"gate", gate}}}};
    const nlohmann::json affine = {{"alpha_activation", "sigmoid"}, {"normalizer", "visible"}};
    for (const bool scaled : {false, true}) {
      nlohmann::json changes = wide;
      if (scaled) changes["attention"]["affine"] = affine;
      const TinyModel tiny(changes);
      LoadOptions options;
      options.path = tiny.path();
      options.kv_cache_bytes = 8 << 20;
      options.max_batched_tokens = 8192;
      options.num_threads = 1;
      const int64_t before = AllocatedBytes();
      const auto model = LoadLanguageModel(options);
      const auto allocated = static_cast<double>(AllocatedBytes() - before);
      const int64_t expected = StepBytes(ReadModelConfig(tiny.path()), 8192, 512);
      EXPECT_NEAR(allocated / static_cast<double>(expected), 1.0, 0.05) << changes;
    }
  }
}

}  // namespace
}  // namespace affine
