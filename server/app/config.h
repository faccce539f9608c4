// Everything that can be set about one server process. Flags, environment and defaults fill it in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/engine/stability_limits.h"

namespace affine {

struct Config {
  std::string model;              // FOLDER or NAME=FOLDER,... as given; ChooseModels splits it
  std::string served_model_name;  // NAME,... as given
  std::string device = "cpu";
  std::string dtype = "auto";
  std::string weights = "auto";
  std::string chat_template;  // FILE or NAME=FILE,... as given; empty: the folders' own
  int64_t max_model_len = 0;  // tokens; 0: what the checkpoint allows

  std::string host = "127.0.0.1";
  int64_t port = 8000;  // 0: any free one
  int64_t http_threads = 2;
  int64_t max_body_mib = 16;
  std::string api_key;
  std::string api_key_file;
  std::vector<std::string> allowed_origins;  // of web pages; none: no page of another site

  double kv_cache_gib = 0;      // of all models; 0: chosen from free memory
  std::string kv_cache_shares;  // NAME=WEIGHT,... as given; empty: even
  int64_t block_size = 16;      // tokens
  bool enable_prefix_caching = true;
  int64_t max_num_batched_tokens = 2048;
  int64_t max_prefill_tokens_beside_decodes = 0;  // 0: no bound
  int64_t max_decode_stall_ms = 200;              // 0: no bound
  int64_t max_num_seqs = 256;
  int64_t max_num_queued_reqs = 1024;
  int64_t threads = 0;              // of all models; 0: one for each core
  int64_t speculative_tokens = 15;  // most drafts of a sequence in a step; 0: none
  int64_t prompt_lookup_max = 3;    // tokens
  int64_t prompt_lookup_min = 1;    // tokens; at most prompt_lookup_max

  int64_t max_grammar_bytes = 65'536;
  int64_t max_grammar_compile_ms = 500;
  int64_t max_queued_grammars = 16;
  int64_t grammar_cache_mib = 64;

  double shutdown_timeout = 30;  // seconds
  std::string log_level = "info";
  std::string log_format = "auto";
  bool vllm_metrics = true;
  int64_t stability_sample_every = 64;  // steps; 0: never
  StabilityLimits stability_limits{};   // all but end_requests, which is unstable_action's
  std::string unstable_action = "log";
};

}  // namespace affine
