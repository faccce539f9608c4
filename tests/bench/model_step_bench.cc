// How long one step of a model takes, without scheduler and server.
//
//   model_step_bench MODEL [--benchmark_filter=...] [--dtype=auto] [--weights=auto] [--threads=0]
//
// Decode/S/C: one token of each of S sequences that have C tokens in the cache.
// Observed/S/C: the same, with the attention's stability measured in every step.
// Prefill/S/N: N tokens of each of S new sequences.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "model/model_loader.h"
#include "tests/bench/model_steps.h"

namespace affine {
namespace {

void Measure(benchmark::State& state, LanguageModel& model, int sequences, int32_t context,
             int32_t tokens, bool observe) {
  ModelSteps steps(model, sequences, context, tokens);
  for (auto _ : state) steps.Step(observe);
  state.SetItemsProcessed(state.iterations() * sequences * tokens);
}

void Register(LanguageModel& model) {
  const auto add = [&](const std::string& name, int sequences, int32_t context, int32_t tokens,
                       bool observe = false) {
    benchmark::RegisterBenchmark(
        name.c_str(),
        [&model, sequences, context, tokens, observe](benchmark::State& state) {
          Measure(state, model, sequences, context, tokens, observe);
        })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  };
  for (int sequences : {1, 2, 4, 8, 16, 32, 64})
    add("Decode/" + std::to_string(sequences) + "/160", sequences, 160, 1);
  for (int32_t context : {1024, 4096}) add("Decode/8/" + std::to_string(context), 8, context, 1);
  for (int sequences : {1, 8, 32}) {
    add("Observed/" + std::to_string(sequences) + "/160", sequences, 160, 1, true);
  }
  add("Observed/8/4096", 8, 4096, 1, true);
  for (int32_t tokens : {16, 64, 128, 512, 2048})
    add("Prefill/1/" + std::to_string(tokens), 1, 0, tokens);
  add("Prefill/4/128", 4, 0, 128);
}

std::string TakeFlag(std::vector<char*>& args, const std::string& name,
                     const std::string& otherwise) {
  for (size_t i = 1; i < args.size(); ++i) {
    const std::string arg = args[i];
    if (arg.rfind(name + "=", 0) != 0) continue;
    args.erase(args.begin() + static_cast<std::ptrdiff_t>(i));
    return arg.substr(name.size() + 1);
  }
  return otherwise;
}

int Run(int argc, char** argv) {
  std::vector<char*> args(argv, argv + argc);
  LoadOptions options;
  options.dtype = TakeFlag(args, "--dtype", "auto");
  options.weights = TakeFlag(args, "--weights", "auto");
  options.num_threads = std::stoi(TakeFlag(args, "--threads", "0"));
  int count = static_cast<int>(args.size());
  benchmark::Initialize(&count, args.data());
  if (count != 2) {
    std::fprintf(
        stderr,
        "usage: model_step_bench MODEL [--dtype=auto] [--weights=auto] [--threads=0] [flags of "
        "Google Benchmark]\n");
    return 2;
  }
  options.path = args[1];
  options.kv_cache_bytes = int64_t{2} << 30;
  const std::unique_ptr<LanguageModel> model = LoadLanguageModel(options);
  benchmark::AddCustomContext("model", options.path);
  benchmark::AddCustomContext("dtype", model->info().dtype);
  benchmark::AddCustomContext("weights", model->info().weights);
  Register(*model);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace affine

int main(int argc, char** argv) {
  try {
    return affine::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
