#include "server/app/part_options.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

namespace affine {

ApiOptions MakeApiOptions(const Config& config, const std::string& version) {
  ApiOptions options;
  options.host = config.host;
  options.port = static_cast<int>(config.port);
  options.threads = static_cast<int>(config.http_threads);
  options.max_body_bytes = config.max_body_mib << 20;
  options.version = version;
  options.api_key = config.api_key;
  options.allowed_origins = config.allowed_origins;
  return options;
}

EngineOptions MakeEngineOptions(const Config& config) {
  // Drawn anew for each engine, so that nobody can prepare prompts whose blocks collide.
  std::random_device random;
  const auto word = [&random] { return (uint64_t{random()} << 32) | random(); };
  EngineOptions options;
  options.max_num_batched_tokens = static_cast<int32_t>(config.max_num_batched_tokens);
  options.max_prefill_tokens_beside_decodes =
      static_cast<int32_t>(config.max_prefill_tokens_beside_decodes);
  options.max_decode_stall_ms = static_cast<int32_t>(config.max_decode_stall_ms);
  options.max_num_seqs = static_cast<int32_t>(config.max_num_seqs);
  options.max_num_queued_reqs = static_cast<int32_t>(config.max_num_queued_reqs);
  options.enable_prefix_caching = config.enable_prefix_caching;
  options.drafts = {.max_tokens = static_cast<int32_t>(config.speculative_tokens),
                    .longest_match = static_cast<int32_t>(config.prompt_lookup_max),
                    .shortest_match = static_cast<int32_t>(config.prompt_lookup_min)};
  options.stability_sample_every = static_cast<int32_t>(config.stability_sample_every);
  options.stability_limits = config.stability_limits;
  options.stability_limits.end_requests = config.unstable_action == "finish";
  options.prefix_hash_key = {word(), word()};
  return options;
}

GrammarOptions MakeGrammarOptions(const Config& config) {
  GrammarOptions options;
  options.limits.max_bytes = static_cast<size_t>(config.max_grammar_bytes);
  options.max_queued = static_cast<size_t>(config.max_queued_grammars);
  options.max_compile_time = std::chrono::milliseconds(config.max_grammar_compile_ms);
  options.cache_bytes = static_cast<size_t>(config.grammar_cache_mib) << 20;
  return options;
}

LoadOptions MakeLoadOptions(const Config& config, const ModelChoice& choice, size_t models,
                            int64_t cache_bytes) {
  LoadOptions options;
  options.path = choice.folder;
  options.device = config.device;
  options.dtype = config.dtype;
  options.weights = config.weights;
  options.max_model_len = static_cast<int32_t>(config.max_model_len);
  options.block_size = static_cast<int32_t>(config.block_size);
  options.kv_cache_bytes =
      static_cast<int64_t>(static_cast<double>(cache_bytes) * choice.cache_share);
  options.max_batched_tokens = static_cast<int32_t>(config.max_num_batched_tokens);
  options.num_threads = ThreadsOfEach(config.threads, models, std::thread::hardware_concurrency());
  return options;
}

int32_t ThreadsOfEach(int64_t threads, size_t models, uint32_t cores) {
  if (models == 1) return static_cast<int32_t>(threads);
  const int64_t all = threads > 0 ? threads : int64_t{cores};
  return static_cast<int32_t>(std::max<int64_t>(1, all / static_cast<int64_t>(models)));
}

}  // namespace affine
