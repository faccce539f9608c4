// The linear layers of a step alone: 30 layers of SmolLM2-135M's widths, their weights read once a
// step, as a model's are. GFLOP/s and, for the weights, GB/s.
//
//   linear_bench [flags of Google Benchmark]        Name: Layers/format/threads/rows
#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "model/layers/linear.h"

namespace affine {
namespace {

struct Width {
  int64_t in, out;
};
constexpr Width kWidths[] = {{576, 976}, {576, 576}, {576, 3072}, {1536, 576}};
constexpr int kLayers = 30;

void Measure(benchmark::State& state, WeightFormat format, int threads, int64_t rows) {
  const Kernels& kernels = KernelsFor(DetectCpuIsa());
  WorkerTeam team(threads);
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<std::unique_ptr<Linear>> layers;
  int64_t weights = 0, bytes = 0;
  for (int i = 0; i < kLayers; ++i) {
    for (const Width& width : kWidths) {
      std::vector<float> values(width.in * width.out);
      for (float& x : values) x = static_cast<float>(engine() % 1024) / 512.0f - 1.0f;
      TensorView view;
      view.dtype = TensorDtype::kFloat32;
      view.shape = {width.out, width.in};
      view.data = std::as_bytes(std::span(values));
      layers.push_back(std::make_unique<Linear>(width.in, width.out, format));
      layers.back()->SetWeight(0, view, team);
      weights += width.in * width.out;
      bytes += layers.back()->bytes();
    }
  }
  PackedRows narrow(kernels, format, rows, 576), wide(kernels, format, rows, 1536);
  std::vector<float> x(1536), y(rows * (3072 + 16));
  for (float& v : x) v = normal(engine);
  for (int64_t r = 0; r < rows; ++r) {
    narrow.Set(r, x.data(), 576);
    wide.Set(r, x.data(), 1536);
  }
  for (auto _ : state) {
    for (const auto& layer : layers) {
      const int64_t out = layer->padded_out_features();
      layer->Forward({layer->in_features() == 576 ? narrow : wide, rows, y.data(), out + 16},
                     kernels, team);
    }
  }
  const auto steps = static_cast<double>(state.iterations());
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * weights * rows * steps, benchmark::Counter::kIsRate);
  state.counters["GB/s"] = benchmark::Counter(1e-9 * bytes * steps, benchmark::Counter::kIsRate);
}

void Register() {
  for (WeightFormat format : {WeightFormat::kBfloat16, WeightFormat::kInt8, WeightFormat::kInt4,
                              WeightFormat::kFloat32}) {
    for (int threads : {1, 2}) {
      for (int64_t rows : {1, 4, 8, 16, 32, 64, 128, 512}) {
        const std::string name = std::string("Layers/") + WeightFormatName(format) + "/" +
                                 std::to_string(threads) + "/" + std::to_string(rows);
        benchmark::RegisterBenchmark(
            name.c_str(), [=](benchmark::State& state) { Measure(state, format, threads, rows); })
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

}  // namespace
}  // namespace affine

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  affine::Register();
  benchmark::RunSpecifiedBenchmarks();
}
