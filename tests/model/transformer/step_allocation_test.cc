// A program of its own, since it counts every allocation of its process.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "model/model_loader.h"
#include "tests/support/tiny_model.h"

namespace {

std::atomic<int64_t> allocations{0};  // of all threads

void* Allocate(size_t bytes, size_t alignment) {
  allocations.fetch_add(1);
  void* memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(bytes)
          : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return Allocate(bytes, alignof(std::max_align_t)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return Allocate(bytes, static_cast<size_t>(alignment));
}
// GCC takes these for mismatched with the operators above, all of which take from malloc.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace affine {
namespace {

constexpr int32_t kSequences = 4, kPrompt = 30, kBlocks = 4;  // blocks of 16 for each

class StepAllocationTest : public testing::TestWithParam<const char*> {
 protected:
  StepAllocationTest() {
    LoadOptions options;
    options.path = tiny_.path();
    options.dtype = GetParam();
    options.kv_cache_bytes = 8 << 20;
    options.num_threads = 2;
    options.max_batched_tokens = 256;
    model_ = LoadLanguageModel(options);
    std::iota(table_.begin(), table_.end(), 0);
    for (int32_t i = 0; i < kBlocks * 16; ++i) tokens_.push_back(3 + i * 7 % 60);
  }

  // All sequences take tokens [start, start + count).
  void Step(int32_t start, int32_t count) {
    slices_.clear();
    for (int32_t s = 0; s < kSequences; ++s) {
      SequenceSlice slice;
      slice.tokens = std::span(tokens_).subspan(start, count);
      slice.start = start;
      slice.block_table = std::span(table_).subspan(s * kBlocks, kBlocks);
      slice.samples = 1;
      slice.sampling = &sampling_;
      slices_.push_back(slice);
    }
    model_->Step({{}, slices_});
  }

  TinyModel tiny_{
      {{"attention",
        {{"denominator", "learned_sink"},
         {"affine", {{"alpha_activation", "linear_clipping"}, {"normalizer", "visible"}}},
         {"gate", "elementwise"}}}}};
  std::unique_ptr<LanguageModel> model_;
  std::vector<int32_t> table_ = std::vector<int32_t>(kSequences * kBlocks);
  std::vector<int32_t> tokens_;
  SamplingParams sampling_ = {.temperature = 0.8f, .top_k = 10, .top_p = 0.9f, .seed = 5};
  std::vector<SequenceSlice> slices_;
};

TEST_P(StepAllocationTest, AStepLikeAnEarlierOneAllocatesNothing) {
  Step(0, kPrompt);
  Step(kPrompt, 1);
  const int64_t before = allocations.load();
  for (int32_t start = kPrompt + 1; start < kBlocks * 16; ++start) Step(start, 1);
  EXPECT_EQ(allocations.load(), before);
  Step(0, kPrompt);
  EXPECT_EQ(allocations.load(), before);
}

TEST_P(StepAllocationTest, TheCountSeesWhatIsAllocated) {
  const int64_t before = allocations.load();
  const auto number = std::make_unique<int>(1);
  EXPECT_EQ(allocations.load(), before + 1);
}

INSTANTIATE_TEST_SUITE_P(Types, StepAllocationTest, testing::Values("float32", "bfloat16"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace affine
