#include "model/cache/kv_cache.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "model/model_error.h"
#include "model/runtime/bfloat16.h"
#include "model/runtime/zeroed_pages.h"

namespace affine {
namespace {

int64_t LayerBlockBytes(const KvCacheShape& shape) {
  return shape.num_kv_heads * shape.tiles_per_block() * 2 * shape.tile_bytes();
}

int64_t ValueSumBytes(const KvCacheShape& shape) { return shape.num_kv_heads * shape.head_dim * 4; }

int64_t SummedSlotsBytes(const KvCacheShape& shape) { return shape.num_kv_heads * 4; }

at::Tensor CachePages(int64_t bytes) {
  try {
    const auto pages = std::make_shared<ZeroedPages>(bytes);
    return at::from_blob(
        pages->data(), {bytes}, [pages](void*) {}, at::TensorOptions(at::kByte));
  } catch (const std::bad_alloc&) {
    throw ModelError("the key-value cache of " + std::to_string(bytes >> 20) +
                     " MiB cannot be allocated; lower --kv_cache_gib");
  }
}

// Index of element (row i of a panel's k, column j) in a panel of `element`.
int64_t PanelIndex(ElementType element, int64_t i, int64_t j) {
  return element == ElementType::kFloat32 ? i * kPanelWidth + j
                                          : (i / 2) * 2 * kPanelWidth + j * 2 + i % 2;
}

template <typename T, typename Convert>
void Scatter(ElementType element, int64_t head_dim, int64_t token, const float* key,
             const float* value, char* keys, char* values, Convert convert) {
  T* k = reinterpret_cast<T*>(keys);
  for (int64_t i = 0; i < head_dim; ++i) k[PanelIndex(element, i, token)] = convert(key[i]);
  T* v = reinterpret_cast<T*>(values);
  for (int64_t i = 0; i < head_dim; ++i) {
    const int64_t panel = i / kPanelWidth * kPanelWidth * kPanelWidth;
    v[panel + PanelIndex(element, token, i % kPanelWidth)] = convert(value[i]);
  }
}

}  // namespace

int64_t KvCacheShape::block_bytes() const {
  const int64_t sums = value_sums ? ValueSumBytes(*this) + SummedSlotsBytes(*this) : 0;
  return num_layers * (LayerBlockBytes(*this) + sums);
}

KvCache::KvCache(const KvCacheShape& shape) : shape_(shape) {
  const int64_t blocks = shape.num_layers * shape.num_blocks;
  blocks_ = CachePages(blocks * LayerBlockBytes(shape));
  if (!shape.value_sums) return;
  value_sums_ = CachePages(blocks * ValueSumBytes(shape)).view(at::kFloat);
  summed_slots_ = CachePages(blocks * SummedSlotsBytes(shape)).view(at::kInt);
}

CacheLayer KvCache::layer(int64_t index) const {
  const int64_t first = index * shape_.num_blocks;
  char* blocks = static_cast<char*>(blocks_.mutable_data_ptr()) + first * LayerBlockBytes(shape_);
  if (!shape_.value_sums) return CacheLayer(shape_, blocks, nullptr, nullptr);
  const int64_t heads = first * shape_.num_kv_heads;
  return CacheLayer(shape_, blocks, value_sums_.mutable_data_ptr<float>() + heads * shape_.head_dim,
                    summed_slots_.mutable_data_ptr<int32_t>() + heads);
}

void KvCache::CopyBlock(int64_t from, int64_t to) const {
  for (int64_t i = 0; i < shape_.num_layers; ++i) {
    const CacheLayer part = layer(i);
    std::memcpy(part.keys(to, 0, 0), part.keys(from, 0, 0), LayerBlockBytes(shape_));
    if (!shape_.value_sums) continue;
    std::memcpy(part.value_sum(to, 0), part.value_sum(from, 0), ValueSumBytes(shape_));
    std::memcpy(&part.summed_slots(to, 0), &part.summed_slots(from, 0), SummedSlotsBytes(shape_));
  }
}

void CacheLayer::Write(int64_t block, int64_t head, int64_t slot, const float* key,
                       const float* value) const {
  const int64_t tile = slot / kPanelWidth, token = slot % kPanelWidth;
  char* k = keys(block, head, tile);
  char* v = values(block, head, tile);
  if (token == 0) std::memset(k, 0, 2 * shape_.tile_bytes());  // values follow keys
  if (shape_.element == ElementType::kFloat32) {
    Scatter<float>(shape_.element, shape_.head_dim, token, key, value, k, v,
                   [](float x) { return x; });
  } else {
    Scatter<uint16_t>(shape_.element, shape_.head_dim, token, key, value, k, v, ToBfloat16);
  }
}

void CacheLayer::SumValues(int64_t before, int64_t block, int64_t head, int64_t slot) const {
  float* sum = value_sum(block, head);
  int32_t& summed = summed_slots(block, head);
  if (slot == 0 || summed != slot) {  // a new block, or one whose last tokens were taken back
    if (before < 0) {
      std::fill(sum, sum + shape_.head_dim, 0.0f);
    } else {
      std::copy_n(value_sum(before, head), shape_.head_dim, sum);
    }
    summed = 0;
  }
  for (; summed <= slot; ++summed) AddStoredValue(block, head, summed, sum);
}

void CacheLayer::AddStoredValue(int64_t block, int64_t head, int64_t slot, float* sum) const {
  const char* v = values(block, head, slot / kPanelWidth);
  const int64_t token = slot % kPanelWidth;
  for (int64_t i = 0; i < shape_.head_dim; ++i) {
    const int64_t at = i / kPanelWidth * kPanelWidth * kPanelWidth +
                       PanelIndex(shape_.element, token, i % kPanelWidth);
    sum[i] += shape_.element == ElementType::kFloat32
                  ? reinterpret_cast<const float*>(v)[at]
                  : FromBfloat16(reinterpret_cast<const uint16_t*>(v)[at]);
  }
}

}  // namespace affine
