// Rows times panels of codes: the one source of multiply_int8 and multiply_int4. See kernels.h,
// MultiplyCodesArgs, and weight_format.h.
#pragma once

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "model/runtime/kernels.h"
#include "model/runtime/multiply_impl.h"
#include "model/runtime/simd.h"
#include "model/runtime/weight_format.h"

namespace affine {
namespace {

// What a group's sum becomes a part of the total by.
struct Int8Head {
  static constexpr int64_t kGroup = kInt8Group, kCodeBytes = kInt8Group * kPanelWidth;
  static constexpr bool kTakesInputSums = false;
  V scale;
  explicit Int8Head(const char* head) : scale(Simd::Load(reinterpret_cast<const float*>(head))) {}
  V AddTo(V total, V sum, float) const { return Simd::Fma(scale, sum, total); }
};

struct Int4Head {
  static constexpr int64_t kGroup = kInt4Group, kCodeBytes = kInt4Group * kPanelWidth / 2;
  static constexpr bool kTakesInputSums = true;
  V span, offset;
  explicit Int4Head(const char* head)
      : span(Simd::FirstBf16(reinterpret_cast<const uint16_t*>(head))),
        offset(Simd::Sub(Simd::SecondBf16(reinterpret_cast<const uint16_t*>(head)), span)) {}
  V AddTo(V total, V sum, float inputs) const {
    return Simd::Fma(offset, Simd::Set(inputs), Simd::Fma(span, sum, total));
  }
};

// Codes say how a block of kBlock inputs is read: as kVectors vectors, added in order.
struct FloatInputs {
  static constexpr int64_t kInputBytes = 4;
  template <int kVector>
  static V Input(const char* x) {  // of each pair the second first
    return Simd::Set(reinterpret_cast<const float*>(x)[kVector ^ 1]);
  }
  static V Add(V sum, V x, V weight) { return Simd::Fma(x, weight, sum); }
};

struct Int8Floats : FloatInputs {
  using Head = Int8Head;
  using Block = const int8_t*;
  static constexpr int64_t kBlock = 2, kBlockBytes = kBlock * kPanelWidth;
  static constexpr int kVectors = 2;
  static Block Load(const char* codes) { return reinterpret_cast<const int8_t*>(codes); }
  template <int kVector>
  static V Weight(Block block) {
    return Simd::FromInt8(block + (kVector ^ 1) * kPanelWidth);
  }
};

struct Int4Floats : FloatInputs {
  using Head = Int4Head;
  using Block = const uint32_t*;
  static constexpr int64_t kBlock = 8, kBlockBytes = kBlock * kPanelWidth / 2;
  static constexpr int kVectors = 8;
  static Block Load(const char* codes) { return reinterpret_cast<const uint32_t*>(codes); }
  template <int kVector>
  static V Weight(Block block) {
    return Simd::FromInt4 < kVector % 2 == 0 ? 16 + 2 * kVector : 2 * (kVector - 1) > (block);
  }
};

/// Tiles of many rows: half as large as without groups, for beside the sums stand the totals.
constexpr int kExpandedRows = Simd::kHoldsWeights ? 4 : kMaxTileRows;
constexpr int kExpandedPanels = Simd::kHoldsWeights ? 3 : Simd::MaxTilePanels(kExpandedRows);
/// Groups whose vectors are kept at a time.
template <typename Head>
constexpr int64_t kExpandedGroups = 512 / Head::kGroup;

/// The vectors of groups, once they have been read.
template <typename Codes>
struct Expanded {
  using Block = const float*;
  static constexpr int64_t kBlockBytes = Codes::kVectors * kPanelWidth * 4;
  static constexpr int64_t kGroupBytes = Codes::Head::kGroup / Codes::kBlock * kBlockBytes;
  static constexpr int64_t kPanelBytes = kExpandedGroups<typename Codes::Head> * kGroupBytes;
  static Block Load(const char* vectors) { return reinterpret_cast<const float*>(vectors); }
  template <int kVector>
  static V Weight(Block block) {
    return Simd::Load(block + kVector * kPanelWidth);
  }
};

/// At most 6 rows by 4 panels, over whole groups.
struct CodeTile {
  MultiplyArgs product;
  const float* input_sums;
  const char* expanded;  // [panels, Expanded::kPanelBytes], or null
};

template <typename Codes, typename Weights, int kVector, int kRows, int kPanels>
[[gnu::always_inline]] inline void AddVector(const char* x, int64_t stride,
                                             const typename Weights::Block (&blocks)[kPanels],
                                             V (&sum)[kRows][kPanels]) {
  if constexpr (Simd::kHoldsWeights) {
    V weight[kPanels];
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) weight[p] = Weights::template Weight<kVector>(blocks[p]);
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      const V input = Codes::template Input<kVector>(x + r * stride);
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; ++p) sum[r][p] = Codes::Add(sum[r][p], input, weight[p]);
    }
  } else {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      const V weight = Weights::template Weight<kVector>(blocks[p]);
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) {
        const V input = Codes::template Input<kVector>(x + r * stride);
        sum[r][p] = Codes::Add(sum[r][p], input, weight);
      }
    }
  }
}

template <typename Codes, typename Weights, int kRows, int kPanels, int... kVector>
[[gnu::always_inline]] inline void AddBlock(const char* x, int64_t stride,
                                            const char* const (&weights)[kPanels], int64_t at,
                                            V (&sum)[kRows][kPanels],
                                            std::integer_sequence<int, kVector...>) {
  typename Weights::Block blocks[kPanels];
#pragma GCC unroll 4
  for (int p = 0; p < kPanels; ++p) blocks[p] = Weights::Load(weights[p] + at);
  (AddVector<Codes, Weights, kVector>(x, stride, blocks, sum), ...);
}

template <typename Codes, typename Weights, int kRows, int kPanels>
void MultiplyCodeTile(const CodeTile& tile) {
  using Head = typename Codes::Head;
  const MultiplyArgs& args = tile.product;
  V total[kRows][kPanels];
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      total[r][p] =
          args.accumulate ? Simd::Load(args.c + r * args.c_stride + p * kPanelWidth) : Simd::Zero();
    }
  }
  const char* x = static_cast<const char*>(args.a);
  const int64_t stride = args.a_stride;
  const char* heads[kPanels];
  std::copy_n(args.panels, kPanels, heads);
  int64_t group = 0;
  for (int64_t left = args.k; left > 0; left -= Head::kGroup, ++group) {
    const char* weights[kPanels];
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      if constexpr (std::is_same_v<Codes, Weights>) {
        weights[p] = heads[p] + kGroupHeadBytes;
      } else {
        weights[p] = tile.expanded + p * Weights::kPanelBytes + group * Weights::kGroupBytes;
      }
    }
    V sum[kRows][kPanels];
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) std::fill_n(sum[r], kPanels, Simd::Zero());
    const int64_t blocks = std::min(left, Head::kGroup) / Codes::kBlock;
    for (int64_t b = 0; b < blocks; ++b, x += Codes::kBlock * Codes::kInputBytes) {
      AddBlock<Codes, Weights>(x, stride, weights, b * Weights::kBlockBytes, sum,
                               std::make_integer_sequence<int, Codes::kVectors>());
    }
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      const Head head(heads[p]);
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) {
        float inputs = 0.0f;
        if constexpr (Head::kTakesInputSums) {
          inputs = reinterpret_cast<const float*>(reinterpret_cast<const char*>(tile.input_sums) +
                                                  r * stride)[group];
        }
        total[r][p] = head.AddTo(total[r][p], sum[r][p], inputs);
      }
      heads[p] += kGroupHeadBytes + Head::kCodeBytes;
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p)
      Simd::Store(args.c + r * args.c_stride + p * kPanelWidth, total[r][p]);
  }
}

using CodeTileFunction = void (*)(const CodeTile& tile);

template <typename Codes, typename Weights, int kRows, int... kPanels>
constexpr std::array<CodeTileFunction, kMaxTilePanels> CodeTilesOfRows(
    std::integer_sequence<int, kPanels...>) {
  return {[] {
    if constexpr (kPanels + 1 <= Simd::MaxTilePanels(kRows))
      return MultiplyCodeTile<Codes, Weights, kRows, kPanels + 1>;
    return CodeTileFunction{nullptr};
  }()...};
}

/// Tiles by rows - 1 and panels - 1.
template <typename Codes, typename Weights, int... kRows>
constexpr std::array<std::array<CodeTileFunction, kMaxTilePanels>, sizeof...(kRows)> CodeTiles(
    std::integer_sequence<int, kRows...>) {
  return {CodeTilesOfRows<Codes, Weights, kRows + 1>(
      std::make_integer_sequence<int, kMaxTilePanels>())...};
}

template <typename Codes, int... kVector>
[[gnu::always_inline]] inline void ExpandBlock(const char* codes, float* to,
                                               std::integer_sequence<int, kVector...>) {
  const typename Codes::Block block = Codes::Load(codes);
  (Simd::Store(to + kVector * kPanelWidth, Codes::template Weight<kVector>(block)), ...);
}

/// `codes` of `inputs` inputs become the vectors that Expanded reads.
template <typename Codes>
void Expand(const char* codes, int64_t inputs, char* to) {
  for (int64_t b = 0; b < inputs / Codes::kBlock; ++b) {
    ExpandBlock<Codes>(codes + b * Codes::kBlockBytes,
                       reinterpret_cast<float*>(to + b * Expanded<Codes>::kBlockBytes),
                       std::make_integer_sequence<int, Codes::kVectors>());
  }
}

/// Whole groups of up to four panels: read once, then multiplied with all rows, tile by tile.
template <typename Codes>
void MultiplyExpanded(const CodeTile& part) {
  static constexpr auto kTiles =
      CodeTiles<Codes, Expanded<Codes>>(std::make_integer_sequence<int, kExpandedRows>());
  using Head = typename Codes::Head;
  alignas(64) char expanded[kMaxTilePanels * Expanded<Codes>::kPanelBytes];
  const MultiplyArgs& args = part.product;
  for (int64_t p = 0; p < args.num_panels; ++p) {
    const char* group = args.panels[p];
    char* to = expanded + p * Expanded<Codes>::kPanelBytes;
    for (int64_t left = args.k; left > 0; left -= Head::kGroup) {
      Expand<Codes>(group + kGroupHeadBytes, std::min(left, Head::kGroup), to);
      group += kGroupHeadBytes + Head::kCodeBytes;
      to += Expanded<Codes>::kGroupBytes;
    }
  }
  const int64_t row_tiles = (args.rows + kExpandedRows - 1) / kExpandedRows;
  CodeTile tile = part;
  tile.expanded = expanded;
  for (int64_t t = 0; t < row_tiles; ++t) {
    const int64_t first = args.rows * t / row_tiles;
    tile.product.rows = args.rows * (t + 1) / row_tiles - first;
    tile.product.a = static_cast<const char*>(args.a) + first * args.a_stride;
    tile.product.c = args.c + first * args.c_stride;
    if constexpr (Head::kTakesInputSums) {
      tile.input_sums = reinterpret_cast<const float*>(
          reinterpret_cast<const char*>(part.input_sums) + first * args.a_stride);
    }
    kTiles[tile.product.rows - 1][args.num_panels - 1](tile);
  }
}

/// Many rows: inputs in even parts, of which up to four panels stay in the second-level cache.
template <typename Codes>
void MultiplyParts(const CodeTile& all) {
  using Head = typename Codes::Head;
  const int64_t groups = (all.product.k + Head::kGroup - 1) / Head::kGroup;
  const int64_t parts = (groups + kExpandedGroups<Head> - 1) / kExpandedGroups<Head>;
  CodeTile part = all;
  const char* panels[kMaxTilePanels];
  part.product.panels = panels;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t first = groups * i / parts, end = groups * (i + 1) / parts;
    for (int64_t p = 0; p < all.product.num_panels; ++p)
      panels[p] = all.product.panels[p] + first * (kGroupHeadBytes + Head::kCodeBytes);
    const int64_t input = first * Head::kGroup;
    part.product.a = static_cast<const char*>(all.product.a) + input * Codes::kInputBytes;
    part.product.k = std::min(end * Head::kGroup, all.product.k) - input;
    part.product.accumulate = all.product.accumulate || i > 0;
    if constexpr (Head::kTakesInputSums) part.input_sums = all.input_sums + first;
    MultiplyExpanded<Codes>(part);
  }
}

/// Up to this many rows, reading codes again for each tile is cheaper than storing what they say.
constexpr int kFusedRows = 4;

template <typename Codes>
void MultiplyCodes(const MultiplyCodesArgs& args) {
  static constexpr auto kTiles =
      CodeTiles<Codes, Codes>(std::make_integer_sequence<int, kFusedRows>());
  const MultiplyArgs& all = args.product;
  if (all.rows == 0) return;
  const bool fused = all.rows <= kFusedRows;
  const int64_t most_panels =
      fused ? Simd::MaxTilePanels(static_cast<int>(all.rows)) : kExpandedPanels;
  const int64_t panel_tiles = (all.num_panels + most_panels - 1) / most_panels;
  CodeTile tile = {all, args.input_sums, nullptr};
  for (int64_t p = 0; p < panel_tiles; ++p) {
    const int64_t first = all.num_panels * p / panel_tiles;
    tile.product.num_panels = all.num_panels * (p + 1) / panel_tiles - first;
    tile.product.panels = all.panels + first;
    tile.product.c = all.c + first * kPanelWidth;
    if (fused) {
      kTiles[all.rows - 1][tile.product.num_panels - 1](tile);
    } else {
      MultiplyParts<Codes>(tile);
    }
  }
}

/// Sums of groups of 32 numbers that are packed as float32.
void SumGroups(const void* packed, int64_t groups, float* sums) {
  const auto* x = static_cast<const float*>(packed);
  for (int64_t g = 0; g < groups; ++g, x += kInt4Group)
    sums[g] = SumLanes(Simd::Add(Simd::Load(x), Simd::Load(x + kPanelWidth)));
}

}  // namespace
}  // namespace affine
