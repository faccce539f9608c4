// What the parts of the process are told of its Config.
#pragma once

#include <cstdint>
#include <string>

#include "model/model_loader.h"
#include "server/api/api_server.h"
#include "server/app/config.h"
#include "server/app/model_choice.h"
#include "server/engine/engine.h"
#include "server/grammar/grammar_service.h"

namespace affine {

ApiOptions MakeApiOptions(const Config& config, const std::string& version);

/// For one engine; the hash key of its prefixes is drawn anew at each call.
EngineOptions MakeEngineOptions(const Config& config);

/// For the grammars of one model.
GrammarOptions MakeGrammarOptions(const Config& config);

/// For one of `models` models, which share `cache_bytes` and the threads.
LoadOptions MakeLoadOptions(const Config& config, const ModelChoice& choice, size_t models,
                            int64_t cache_bytes);

/// Threads of each of `models` models for --threads on a machine with `cores`: all that there are
/// for one model (0: as its loader sees fit), else an even part, at least 1. Teams of full size
/// would wait for each other's threads in every layer of steps that run at the same time.
int32_t ThreadsOfEach(int64_t threads, size_t models, uint32_t cores);

}  // namespace affine
