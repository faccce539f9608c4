// What scheduling knows of one request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/scheduler/guess_record.h"
#include "server/scheduler/ngram_index.h"
#include "server/scheduler/siphash.h"

namespace affine {

/// Owned by the engine; written by the engine's thread alone.
struct Sequence {
  enum class State { kWaiting, kRunning };

  uint64_t id = 0;       // ascends in order of arrival
  int32_t priority = 0;  // lower goes first
  uint64_t group = 0;    // of PromptGroups; 0: none begins with the same prompt
  int32_t prompt_length = 0;
  int32_t max_length = 0;     // most tokens, prompt included; at least prompt_length
  bool lookup_prefix = true;  // false: every prompt token must be computed anew, to be scored
  bool may_draft = true;      // false: every step computes known tokens alone
  std::string cache_salt;

  std::vector<int32_t> tokens;  // prompt, then output; the last sampled token is not yet cached
  int32_t num_computed = 0;     // leading tokens that are in the cache, step in flight excluded
  std::vector<int32_t> blocks;  // of positions [0, num_computed) and of the step in flight
  int32_t num_indexed = 0;      // leading blocks that others can find
  bool index_blocks = true;     // false once a block's hash was taken by other contents
  std::vector<Hash128> hashes;  // [0] of the salt, [i + 1] of full block i; made when first needed
  State state = State::kWaiting;
  int32_t prefill_share = 0;  // tokens that the step being planned may prefill

  // Of DraftPlanner.
  std::optional<NgramIndex> ngrams;  // of `tokens`; made when first needed
  std::vector<int32_t> guesses;      // what may follow `tokens`; from a step's plan to its commit
  int32_t guess_match = 0;           // tokens before `guesses` that stood together before
  GuessRecord record;

  int32_t length() const { return static_cast<int32_t>(tokens.size()); }
  int32_t num_uncomputed() const { return length() - num_computed; }
  /// All but the token sampled last is computed.
  bool decoding() const { return num_uncomputed() == 1 && length() > prompt_length; }
  /// Served before `other`: by priority, then by arrival.
  bool Before(const Sequence& other) const {
    return priority != other.priority ? priority < other.priority : id < other.id;
  }
};

}  // namespace affine
