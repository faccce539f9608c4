// Compares the decode steps of two models in pairs that alternate step by step, so that a machine
// whose speed varies slows both alike.
//
//   decode_pairs A B [--contexts=256,2048,8192] [--sequences=4] [--steps=64] [--pairs=10]
//                    [--observe_every=0] [--dtype=auto] [--threads=0]
//
// Printed for each context: the median of the pairs' milliseconds a step of A and of B, and the
// median, least and largest of their throughputs' ratios A / B. With --observe_every=N every N-th
// step of A has its attention sampled, as the engine does with --stability_sample_every=N; B's
// never.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "model/model_loader.h"
#include "tests/bench/model_steps.h"

namespace affine {
namespace {

struct Options {
  std::string a, b;
  std::map<std::string, std::string> flags = {
      {"contexts", "256,2048,8192"}, {"sequences", "4"}, {"steps", "64"}, {"pairs", "10"},
      {"observe_every", "0"},        {"dtype", "auto"},  {"threads", "0"}};
  int Number(const std::string& flag) const { return std::stoi(flags.at(flag)); }
};

bool Parse(int argc, char** argv, Options* options) {
  std::vector<std::string> models;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      models.push_back(word);
      continue;
    }
    const size_t equals = word.find('=');
    const auto flag = options->flags.find(word.substr(2, equals - 2));
    if (equals == std::string::npos || flag == options->flags.end()) return false;
    flag->second = word.substr(equals + 1);
  }
  if (models.size() != 2) return false;
  options->a = models[0];
  options->b = models[1];
  return true;
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double Milliseconds(ModelSteps& steps, bool observe) {
  const auto begin = std::chrono::steady_clock::now();
  steps.Step(observe);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

void Compare(LanguageModel& a, LanguageModel& b, int context, const Options& options) {
  const int sequences = options.Number("sequences"), steps = options.Number("steps");
  const int observe_every = options.Number("observe_every");
  ModelSteps of_a(a, sequences, context - 1, 1), of_b(b, sequences, context - 1, 1);
  std::vector<double> a_means, b_means, ratios;
  for (int pair = 0; pair < options.Number("pairs"); ++pair) {
    double a_sum = 0.0, b_sum = 0.0;
    for (int step = 1; step <= steps; ++step) {
      const bool observe = observe_every > 0 && step % observe_every == 0;
      if (step % 2 == 0) a_sum += Milliseconds(of_a, observe);
      b_sum += Milliseconds(of_b, false);
      if (step % 2 == 1) a_sum += Milliseconds(of_a, observe);
    }
    a_means.push_back(a_sum / steps);
    b_means.push_back(b_sum / steps);
    ratios.push_back(b_sum / a_sum);
  }
  std::printf("| %d | %d | %.2f | %.2f | %.4f | %.4f | %.4f |\n", context, sequences,
              Median(a_means), Median(b_means), Median(ratios), std::ranges::min(ratios),
              std::ranges::max(ratios));
  std::fflush(stdout);
}

std::unique_ptr<LanguageModel> Load(const std::string& path, const Options& options) {
  LoadOptions load;
  load.path = path;
  load.dtype = options.flags.at("dtype");
  load.num_threads = options.Number("threads");
  load.kv_cache_bytes = int64_t{2} << 30;
  return LoadLanguageModel(load);
}

int Run(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: decode_pairs A B [--contexts=256,2048,8192] [--sequences=4] [--steps=64] "
                 "[--pairs=10] [--observe_every=0] [--dtype=auto] [--threads=0]\n");
    return 2;
  }
  const auto a = Load(options.a, options), b = Load(options.b, options);
  std::printf("A: %s (%s)\nB: %s (%s)\n\n", options.a.c_str(), a->info().dtype.c_str(),
              options.b.c_str(), b->info().dtype.c_str());
  std::printf(
      "| context | sequences | A ms a step | B ms a step | A / B, median | least | largest |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  std::stringstream contexts(options.flags.at("contexts"));
  for (std::string context; std::getline(contexts, context, ',');) {
    Compare(*a, *b, std::stoi(context), options);
  }
  return 0;
}

}  // namespace
}  // namespace affine

int main(int argc, char** argv) {
  try {
    return affine::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "decode_pairs: %s\n", error.what());
    return 1;
  }
}
