// Rows times panels: the multiply kernels' one source. See kernels.h, MultiplyArgs, and simd.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "model/runtime/kernels.h"
#include "model/runtime/simd.h"

namespace affine {
namespace {

constexpr int kMaxTileRows = 6;
constexpr int kMaxTilePanels = 4;

// A format says how a step of the sum is read: kDepth inputs, as kParts multiply-adds in order.
struct Float32Panels {
  static constexpr int kDepth = 1, kParts = 1;
  static constexpr int64_t kInputBytes = 4, kStepBytes = kPanelWidth * 4;
  static V Weight(const char* panel, int) {
    return Simd::Load(reinterpret_cast<const float*>(panel));
  }
  static V Input(const char* a, int) { return Simd::Set(*reinterpret_cast<const float*>(a)); }
  static V Add(V sum, V x, V weight) { return Simd::Fma(x, weight, sum); }
};

struct Bfloat16Panels {
  static constexpr int kDepth = 2, kParts = 2;
  static constexpr int64_t kInputBytes = 4, kStepBytes = 2 * kPanelWidth * 2;
  static V Weight(const char* panel, int part) {
    const auto* pairs = reinterpret_cast<const uint16_t*>(panel);
    return part == 0 ? Simd::SecondBf16(pairs) : Simd::FirstBf16(pairs);
  }
  static V Input(const char* a, int part) {
    return Simd::Set(reinterpret_cast<const float*>(a)[1 - part]);
  }
  static V Add(V sum, V x, V weight) { return Simd::Fma(x, weight, sum); }
};

/// Adds one cut's products to a tile's sums; returns where the next cut's inputs start.
template <typename Format, int kRows, int kPanels>
inline __attribute__((always_inline)) const char* MultiplyCut(const MultiplyArgs& args,
                                                              const char* const* starts,
                                                              const char* a,
                                                              V (&sum)[kRows][kPanels]) {
  const char* panels[kPanels];
  std::copy_n(starts, kPanels, panels);
  const int64_t a_stride = args.a_stride, end = args.k / Format::kDepth * Format::kStepBytes;
  for (int64_t at = 0; at < end;
       at += Format::kStepBytes, a += Format::kDepth * Format::kInputBytes) {
#pragma GCC unroll 2
    for (int part = 0; part < Format::kParts; ++part) {
      if constexpr (Simd::kHoldsWeights) {
        V weight[kPanels];
#pragma GCC unroll 4
        for (int p = 0; p < kPanels; ++p) weight[p] = Format::Weight(panels[p] + at, part);
#pragma GCC unroll 6
        for (int r = 0; r < kRows; ++r) {
          const V x = Format::Input(a + r * a_stride, part);
#pragma GCC unroll 4
          for (int p = 0; p < kPanels; ++p) sum[r][p] = Format::Add(sum[r][p], x, weight[p]);
        }
      } else {
        // Panel by panel: two weight registers live at a time, and all the others hold sums.
#pragma GCC unroll 4
        for (int p = 0; p < kPanels; ++p) {
          const V weight = Format::Weight(panels[p] + at, part);
          const char* x = a;
          asm volatile("" : "+r"(x));  // read again for each panel: kept, they would push sums out
#pragma GCC unroll 6
          for (int r = 0; r < kRows; ++r) {
            sum[r][p] = Format::Add(sum[r][p], Format::Input(x + r * a_stride, part), weight);
          }
        }
      }
    }
  }
  return a;
}

/// One tile: sums of kRows x kPanels vectors stay in registers over the whole depth.
template <typename Format, int kRows, int kPanels>
void MultiplyTile(const MultiplyArgs& args) {
  V sum[kRows][kPanels];
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      sum[r][p] =
          args.accumulate ? Simd::Load(args.c + r * args.c_stride + p * kPanelWidth) : Simd::Zero();
    }
  }
  const char* a = static_cast<const char*>(args.a);
  for (int64_t cut = 0; cut < args.cuts; ++cut) {
    a = MultiplyCut<Format, kRows, kPanels>(args, args.panels + cut * args.cut_stride, a, sum);
  }
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p)
      Simd::Store(args.c + r * args.c_stride + p * kPanelWidth, sum[r][p]);
  }
}

using TileFunction = void (*)(const MultiplyArgs& args);

template <typename Format, int kRows, int... kPanels>
constexpr std::array<TileFunction, kMaxTilePanels> TilesOfRows(
    std::integer_sequence<int, kPanels...>) {
  return {[] {
    if constexpr (kPanels + 1 <= Simd::MaxTilePanels(kRows))
      return MultiplyTile<Format, kRows, kPanels + 1>;
    return TileFunction{nullptr};
  }()...};
}

template <typename Format, int... kRows>
constexpr std::array<std::array<TileFunction, kMaxTilePanels>, kMaxTileRows> AllTiles(
    std::integer_sequence<int, kRows...>) {
  return {TilesOfRows<Format, kRows + 1>(std::make_integer_sequence<int, kMaxTilePanels>())...};
}

/// Cuts rows and panels into tiles, each as even as can be, so that none is left with a slow
/// remainder. Panels outermost: they stay in the nearest cache while all rows pass by.
template <typename Format>
void Multiply(const MultiplyArgs& args) {
  static constexpr auto kTiles = AllTiles<Format>(std::make_integer_sequence<int, kMaxTileRows>());
  const int64_t row_tiles = (args.rows + kMaxTileRows - 1) / kMaxTileRows;
  const int64_t most_rows = row_tiles == 0 ? 1 : (args.rows + row_tiles - 1) / row_tiles;
  const int64_t most_panels = Simd::MaxTilePanels(static_cast<int>(most_rows));
  const int64_t panel_tiles = (args.num_panels + most_panels - 1) / most_panels;
  MultiplyArgs tile = args;
  for (int64_t p = 0; p < panel_tiles; ++p) {
    const int64_t first_panel = args.num_panels * p / panel_tiles;
    const int64_t panels = args.num_panels * (p + 1) / panel_tiles - first_panel;
    tile.panels = args.panels + first_panel;
    for (int64_t r = 0; r < row_tiles; ++r) {
      const int64_t first_row = args.rows * r / row_tiles;
      const int64_t rows = args.rows * (r + 1) / row_tiles - first_row;
      tile.a = static_cast<const char*>(args.a) + first_row * args.a_stride;
      tile.c = args.c + first_row * args.c_stride + first_panel * kPanelWidth;
      kTiles[rows - 1][panels - 1](tile);
    }
  }
}

}  // namespace
}  // namespace affine
