// Scores and continues prompts on the model alone, without engine or server.
//
// Reads JSON lines {"prompt": [ids], "max_tokens": n, "temperature": t, "seed": s}; writes, for
// each,
// {"prompt_logprobs": [n - 1 numbers], "tokens": [...], "logprobs": [...]}. Greedy when temperature
// is 0, the default. The prompt is computed in chunks of --chunk tokens (0: whole).
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "model/model_error.h"
#include "model/model_loader.h"

namespace affine {
namespace {

struct Flags {
  LoadOptions load;
  int chunk = 0;
};

Flags ParseFlags(int argc, char** argv) {
  Flags flags;
  flags.load.kv_cache_bytes = int64_t{1} << 30;
  flags.load.max_batched_tokens = 8192;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const size_t equals = flag.find('=');
    const std::string name = flag.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : flag.substr(equals + 1);
    if (name == "--model") {
      flags.load.path = value;
    } else if (name == "--dtype") {
      flags.load.dtype = value;
    } else if (name == "--weights") {
      flags.load.weights = value;
    } else if (name == "--chunk") {
      flags.chunk = std::stoi(value);
    } else if (name == "--block_size") {
      flags.load.block_size = std::stoi(value);
    } else if (name == "--threads") {
      flags.load.num_threads = std::stoi(value);
    } else {
      throw ModelError(flag +
                       " is unknown; there are --model --dtype --weights --chunk "
                       "--block_size --threads");
    }
  }
  return flags;
}

class Scorer {
 public:
  Scorer(LanguageModel& model, int chunk) : model_(model), chunk_(chunk) {
    // Blocks in a scattered order, so that nothing can lean on their being neighbours.
    constexpr int32_t kStride = 4099;  // a prime that divides no count up to 4096
    const int32_t count = std::min(model.info().num_blocks, 4096);
    for (int32_t i = 0; i < count; ++i)
      blocks_.push_back(static_cast<int32_t>(int64_t{i} * kStride % count));
  }

  nlohmann::json Score(const nlohmann::json& request) {
    std::vector<int32_t> tokens = request.at("prompt").get<std::vector<int32_t>>();
    const auto max_tokens = static_cast<size_t>(request.value("max_tokens", 0));
    SamplingParams params;
    params.temperature = request.value("temperature", 0.0f);
    params.seed = request.value("seed", uint64_t{0});
    params.top_log_probs = 0;
    params.prompt_top_log_probs = 0;
    const size_t prompt = tokens.size();
    std::vector<float> prompt_scores, scores;
    size_t done = 0;
    while (done < prompt) {
      const size_t end = chunk_ > 0 ? std::min(prompt, done + chunk_) : prompt;
      const SliceResult result = Step(tokens, done, end, end == prompt && max_tokens > 0, params);
      for (const ScoredToken& token : result.scored) prompt_scores.push_back(token.log_prob);
      Append(result, tokens, scores);
      done = end;
    }
    while (tokens.size() < prompt + max_tokens) {
      Append(Step(tokens, tokens.size() - 1, tokens.size(), true, params), tokens, scores);
    }
    return {{"prompt_logprobs", prompt_scores},
            {"tokens",
             std::vector<int32_t>(tokens.begin() + static_cast<int64_t>(prompt), tokens.end())},
            {"logprobs", scores}};
  }

 private:
  static void Append(const SliceResult& result, std::vector<int32_t>& tokens,
                     std::vector<float>& scores) {
    if (!result.finite) throw ModelError("logits are not finite");
    if (result.sampled.empty()) return;
    tokens.push_back(result.sampled[0].id);
    scores.push_back(result.sampled[0].log_prob);
  }

  SliceResult Step(const std::vector<int32_t>& tokens, size_t begin, size_t end, bool sample,
                   const SamplingParams& params) {
    SequenceSlice slice;
    slice.tokens = std::span(tokens).subspan(begin, end - begin);
    slice.start = static_cast<int32_t>(begin);
    const auto block_size = static_cast<size_t>(model_.info().block_size);
    slice.block_table =
        std::span<const int32_t>(blocks_).first((end + block_size - 1) / block_size);
    slice.samples = sample ? 1 : 0;
    slice.sampling = &params;
    // Only prompt tokens have a successor to score.
    const size_t scored = std::min(end, tokens.size() - 1);
    if (scored > begin) slice.targets = std::span(tokens).subspan(begin + 1, scored - begin);
    return model_.Step({.copies = {}, .slices = std::span(&slice, 1)})[0];
  }

  LanguageModel& model_;
  size_t chunk_;
  std::vector<int32_t> blocks_;
};

int Run(int argc, char** argv) {
  const Flags flags = ParseFlags(argc, argv);
  const auto model = LoadLanguageModel(flags.load);
  Scorer scorer(*model, flags.chunk);
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << scorer.Score(nlohmann::json::parse(line)) << std::endl;
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace affine

int main(int argc, char** argv) {
  try {
    return affine::Run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "affine_score: " << error.what() << std::endl;
    return EXIT_FAILURE;
  }
}
