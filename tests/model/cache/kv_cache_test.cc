#include "model/cache/kv_cache.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "model/model_error.h"
#include "model/runtime/bfloat16.h"

namespace affine {
namespace {

KvCacheShape Shape(ElementType element) {
  return {.num_layers = 2,
          .num_kv_heads = 3,
          .head_dim = 32,
          .block_size = 32,
          .num_blocks = 4,
          .element = element,
          .value_sums = true};
}

std::vector<float> Row(float first) {
  std::vector<float> row(32);
  for (int i = 0; i < 32; ++i) row[i] = first + 0.01f * static_cast<float>(i);
  return row;
}

class KvCacheTest : public testing::TestWithParam<ElementType> {
 protected:
  // scores[j] = q . k_j of one tile, by the panel multiply that attention uses.
  std::vector<float> Scores(const CacheLayer& layer, int64_t block, int64_t head, int64_t tile,
                            const std::vector<float>& query) {
    std::vector<float> scores(16);
    const char* keys = layer.keys(block, head, tile);
    KernelsFor(CpuIsa::kPortable)
        .multiply(GetParam(),
                  {query.data(), 32 * sizeof(float), 1, &keys, 1, 32, scores.data(), 16, false});
    return scores;
  }
  float Stored(float x) const {
    return GetParam() == ElementType::kFloat32 ? x : FromBfloat16(ToBfloat16(x));
  }
};

TEST_P(KvCacheTest, KeysAreReadBackByThePanelMultiply) {
  const KvCache cache(Shape(GetParam()));
  const CacheLayer layer = cache.layer(1);
  for (int64_t slot = 0; slot < 20; ++slot) {
    layer.Write(2, 1, slot, Row(static_cast<float>(slot)).data(), Row(0.0f).data());
  }
  std::vector<float> query(32, 0.0f);
  query[5] = 1.0f;
  const std::vector<float> scores = Scores(layer, 2, 1, 1, query);
  for (int64_t j = 0; j < 16; ++j) {
    EXPECT_EQ(scores[j], j < 4 ? Stored(static_cast<float>(16 + j) + 0.05f) : 0.0f);
  }
}

TEST_P(KvCacheTest, SumsValuesAsTheyAreStoredAcrossBlocks) {
  const KvCache cache(Shape(GetParam()));
  const CacheLayer layer = cache.layer(0);
  std::vector<float> expected(32, 0.0f);
  for (int64_t position = 0; position < 40; ++position) {
    const std::vector<float> value = Row(0.3f * static_cast<float>(position));
    const int64_t block = position < 32 ? 3 : 1, slot = position % 32;
    layer.Write(block, 2, slot, Row(0.0f).data(), value.data());
    layer.SumValues(position < 32 ? -1 : 3, block, 2, slot);
    for (int i = 0; i < 32; ++i) {
      expected[i] += Stored(value[i]);
      ASSERT_EQ(layer.value_sum(block, 2)[i], expected[i]) << "position " << position;
    }
  }
}

TEST_P(KvCacheTest, ARewrittenTailIsSummedAnew) {
  const KvCache cache(Shape(GetParam()));
  const CacheLayer layer = cache.layer(0);
  const auto write = [&](int64_t slot, float value) {
    layer.Write(0, 0, slot, Row(0.0f).data(), Row(value).data());
    layer.SumValues(-1, 0, 0, slot);
  };
  for (int64_t slot = 0; slot < 9; ++slot) write(slot, 7.0f);
  write(4, 1.0f);
  float expected = 0.0f;
  for (float value : {7.0f, 7.0f, 7.0f, 7.0f, 1.0f}) expected += Stored(value);
  EXPECT_EQ(layer.value_sum(0, 0)[0], expected);
  EXPECT_EQ(layer.summed_slots(0, 0), 5);
}

TEST_P(KvCacheTest, TheFirstTokenOfATileClearsWhatAnotherSequenceLeft) {
  const KvCache cache(Shape(GetParam()));
  const CacheLayer layer = cache.layer(0);
  const std::vector<float> broken(32, std::numeric_limits<float>::quiet_NaN());
  for (int64_t slot = 0; slot < 16; ++slot) layer.Write(0, 0, slot, broken.data(), broken.data());
  layer.Write(0, 0, 0, Row(1.0f).data(), Row(1.0f).data());
  const std::vector<float> scores = Scores(layer, 0, 0, 0, std::vector<float>(32, 0.0f));
  EXPECT_EQ(scores, std::vector<float>(16, 0.0f));
  layer.SumValues(-1, 0, 0, 15);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(layer.value_sum(0, 0)[i], Stored(Row(1.0f)[i]));
}

TEST_P(KvCacheTest, CopiesABlockOfEveryLayerWithItsSums) {
  const KvCache cache(Shape(GetParam()));
  for (int64_t l = 0; l < 2; ++l) {
    const CacheLayer layer = cache.layer(l);
    layer.Write(0, 1, 0, Row(2.0f + static_cast<float>(l)).data(), Row(1.0f).data());
    layer.value_sum(0, 1)[3] = 5.0f + static_cast<float>(l);
  }
  cache.CopyBlock(0, 3);
  std::vector<float> query(32, 0.0f);
  query[0] = 1.0f;
  for (int64_t l = 0; l < 2; ++l) {
    EXPECT_EQ(Scores(cache.layer(l), 3, 1, 0, query)[0], 2.0f + static_cast<float>(l));
    EXPECT_EQ(cache.layer(l).value_sum(3, 1)[3], 5.0f + static_cast<float>(l));
    EXPECT_EQ(cache.layer(l).value_sum(2, 1)[3], 0.0f);
  }
}

INSTANTIATE_TEST_SUITE_P(Elements, KvCacheTest,
                         testing::Values(ElementType::kFloat32, ElementType::kBfloat16));

TEST(KvCacheShapeTest, BlockBytesCountKeysValuesAndSumsOfEveryLayer) {
  KvCacheShape shape = Shape(ElementType::kBfloat16);
  EXPECT_EQ(shape.block_bytes(), 2 * (3 * 2 * 32 * 32 * 2 + 3 * 32 * 4 + 3 * 4));
  shape.value_sums = false;
  EXPECT_EQ(shape.block_bytes(), 2 * 3 * 2 * 32 * 32 * 2);
}

TEST(KvCacheShapeTest, MoreThanTheAddressSpaceIsAnErrorWithARemedy) {
  KvCacheShape shape = Shape(ElementType::kFloat32);
  shape.num_blocks = int64_t{1} << 40;
  EXPECT_THROW(KvCache{shape}, ModelError);
}

}  // namespace
}  // namespace affine
