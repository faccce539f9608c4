// The paged key-value cache: one allocation, cut into blocks, with running value sums.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "model/runtime/kernels.h"

namespace affine {

struct KvCacheShape {
  int64_t num_layers = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;    // a multiple of 16
  int64_t block_size = 0;  // tokens; a multiple of 16
  int64_t num_blocks = 0;
  ElementType element = ElementType::kFloat32;
  bool value_sums = false;

  int64_t tiles_per_block() const { return block_size / kPanelWidth; }
  /// Of one tile: 16 keys, or 16 values, of one head.
  int64_t tile_bytes() const { return kPanelWidth * head_dim * ElementBytes(element); }
  /// Of one block over all layers.
  int64_t block_bytes() const;
};

/// One layer's part of the cache. A block holds, for each head, `tiles_per_block` pairs of tiles:
///   keys    as one panel [head_dim, 16 tokens], so that scores are panel multiplies;
///   values  as head_dim / 16 panels [16 tokens, 16], so that outputs are panel multiplies.
/// A tile is cleared when its first token is written: what lies past a sequence's end is zero,
/// never another sequence's leftovers.
class CacheLayer {
 public:
  /// `value_sums` and `summed_slots` are null without shape.value_sums.
  CacheLayer(const KvCacheShape& shape, char* blocks, float* value_sums, int32_t* summed_slots)
      : shape_(shape), blocks_(blocks), value_sums_(value_sums), summed_slots_(summed_slots) {}

  const KvCacheShape& shape() const { return shape_; }
  char* keys(int64_t block, int64_t head, int64_t tile) const { return Tile(block, head, tile, 0); }
  char* values(int64_t block, int64_t head, int64_t tile) const {
    return Tile(block, head, tile, 1);
  }
  /// [head_dim] float32: the sum of the sequence's values at all positions before `block` and in
  /// its first summed_slots() slots. Only with shape().value_sums.
  float* value_sum(int64_t block, int64_t head) const {
    return value_sums_ + (block * shape_.num_kv_heads + head) * shape_.head_dim;
  }
  int32_t& summed_slots(int64_t block, int64_t head) const {
    return summed_slots_[block * shape_.num_kv_heads + head];
  }

  /// Stores one token's key and value, both [head_dim], at `slot` of `block`, rounded to the
  /// cache's element type.
  void Write(int64_t block, int64_t head, int64_t slot, const float* key, const float* value) const;
  /// Brings value_sum(block, head) up to and including `slot`, whose value is written. `before` is
  /// the sequence's block before `block`, complete; -1 for its first. One float32 addition a token
  /// in order of position, of the values as stored: the same bits for any chunks, blocks, forks and
  /// rewrites.
  void SumValues(int64_t before, int64_t block, int64_t head, int64_t slot) const;

 private:
  void AddStoredValue(int64_t block, int64_t head, int64_t slot, float* sum) const;
  char* Tile(int64_t block, int64_t head, int64_t tile, int64_t which) const {
    const int64_t index = (block * shape_.num_kv_heads + head) * shape_.tiles_per_block() + tile;
    return blocks_ + (index * 2 + which) * shape_.tile_bytes();
  }

  KvCacheShape shape_;
  char* blocks_;
  float* value_sums_;
  int32_t* summed_slots_;
};

/// Memory is taken from the system only as blocks are first written.
class KvCache {
 public:
  /// Throws ModelError when the address space cannot be had.
  explicit KvCache(const KvCacheShape& shape);

  const KvCacheShape& shape() const { return shape_; }
  CacheLayer layer(int64_t index) const;
  void CopyBlock(int64_t from, int64_t to) const;

 private:
  KvCacheShape shape_;
  at::Tensor blocks_;        // uint8 [layers, blocks, layer_block_bytes]
  at::Tensor value_sums_;    // float32 [layers, blocks, kv_heads, head_dim], or undefined
  at::Tensor summed_slots_;  // int32 [layers, blocks, kv_heads], or undefined
};

}  // namespace affine
