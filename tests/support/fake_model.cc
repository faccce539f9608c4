#include "tests/support/fake_model.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <unordered_map>

namespace affine {
namespace {

constexpr uint64_t kEmptyHistory = 0x9e3779b97f4a7c15;

uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t x = (a ^ std::rotl(b, 23)) * 0xff51afd7ed558ccd + b;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53;
  return x ^ x >> 29;
}

[[noreturn]] void Fault(const SequenceSlice& slice, const std::string& what) {
  throw std::logic_error("slice [" + std::to_string(slice.start) + ", " +
                         std::to_string(slice.start + slice.tokens.size()) + "): " + what);
}

}  // namespace

bool operator==(const ScoredToken& a, const ScoredToken& b) {
  return a.id == b.id && a.log_prob == b.log_prob && a.rank == b.rank && a.top == b.top;
}

FakeModel::FakeModel(const FakeModelOptions& options)
    : options_(options), cells_(static_cast<size_t>(options.num_blocks) * options.block_size) {
  info_.architecture = "FakeForCausalLM";
  info_.dtype = "float32";
  info_.device = "cpu";
  info_.num_layers = 2;
  info_.num_heads = 2;
  info_.vocab_size = options.vocab_size;
  info_.eos_token_ids = options.eos_token_ids;
  info_.max_model_len = options.max_model_len;
  info_.block_size = options.block_size;
  info_.num_blocks = options.num_blocks;
}

FakeModel::Cell& FakeModel::At(const SequenceSlice& slice, int32_t position) {
  const int32_t block = slice.block_table[position / options_.block_size];
  return cells_[static_cast<size_t>(block) * options_.block_size + position % options_.block_size];
}

void FakeModel::CheckTables(const StepBatch& batch) const {
  const int32_t size = options_.block_size;
  std::unordered_map<int32_t, size_t> users;  // of a block, how many slices
  std::unordered_map<int32_t, bool> is_written;
  size_t tokens = 0;
  for (const SequenceSlice& slice : batch.slices) {
    const int32_t end = slice.start + static_cast<int32_t>(slice.tokens.size());
    tokens += slice.tokens.size();
    if (slice.tokens.empty()) Fault(slice, "no tokens");
    if (end > options_.max_model_len) Fault(slice, "beyond the model's length");
    if (slice.sampling == nullptr) Fault(slice, "no sampling parameters");
    if (static_cast<int32_t>(slice.block_table.size()) != (end + size - 1) / size) {
      Fault(slice, "its block table has " + std::to_string(slice.block_table.size()) + " blocks");
    }
    std::set<int32_t> seen;
    for (size_t i = 0; i < slice.block_table.size(); ++i) {
      const int32_t block = slice.block_table[i];
      if (block < 0 || block >= options_.num_blocks) Fault(slice, "no such block");
      if (!seen.insert(block).second) Fault(slice, "a block stands twice in its table");
      ++users[block];
      if (static_cast<int32_t>(i) >= slice.start / size) is_written[block] = true;
    }
  }
  for (const auto& [block, written] : is_written) {
    if (users[block] > 1) {
      throw std::logic_error("block " + std::to_string(block) + " is written and shared");
    }
  }
  if (tokens > static_cast<size_t>(options_.max_batched_tokens)) {
    throw std::logic_error("too many tokens: " + std::to_string(tokens));
  }
  if (batch.slices.size() > static_cast<size_t>(options_.max_slices)) {
    throw std::logic_error("too many slices: " + std::to_string(batch.slices.size()));
  }
}

uint64_t FakeModel::ReadHistory(const SequenceSlice& slice) {
  uint64_t digest = kEmptyHistory;
  for (int32_t position = 0; position < slice.start; ++position) {
    const Cell& cell = At(slice, position);
    digest = Mix(digest, cell.token);
    if (cell.position != position || cell.digest != digest) {
      Fault(slice, "position " + std::to_string(position) + " reads another history");
    }
  }
  return digest;
}

std::span<const SliceResult> FakeModel::Step(const StepBatch& batch) {
  if (before_step) before_step(batch);
  CheckTables(batch);
  for (const BlockCopy& copy : batch.copies) Copy(copy);
  results_.assign(batch.slices.size(), {});
  for (size_t i = 0; i < results_.size(); ++i) {
    StepSlice(batch.slices[i], &results_[i]);
    if (batch.slices[i].stability != nullptr) Observe(batch.slices[i]);
  }
  ++steps_;
  return results_;
}

void FakeModel::Copy(const BlockCopy& copy) {
  if (std::min(copy.from, copy.to) < 0 || std::max(copy.from, copy.to) >= options_.num_blocks) {
    throw std::logic_error("a copy names no block");
  }
  const auto at = [&](int32_t block) {
    return cells_.begin() + static_cast<ptrdiff_t>(block) * options_.block_size;
  };
  std::copy_n(at(copy.from), options_.block_size, at(copy.to));
}

void FakeModel::Observe(const SequenceSlice& slice) const {
  for (size_t i = 0; i < slice.tokens.size(); ++i) {
    const int32_t token = slice.tokens[i], position = slice.start + static_cast<int32_t>(i);
    if (position < slice.observe_from) continue;
    for (int32_t cell = 0; cell < info_.num_layers * info_.num_heads; ++cell) {
      slice.stability[cell].Add(
          observe ? observe(token, position, cell / info_.num_heads, cell % info_.num_heads)
                  : HeadStability{.queries = 1, .entropy = static_cast<double>(token)});
    }
  }
}

void FakeModel::CheckTokensSoFar(const SequenceSlice& slice) {
  if (slice.before.empty() && !slice.sampling->reads_tokens()) return;
  if (static_cast<int32_t>(slice.before.size()) != slice.start) {
    Fault(slice, "is told of " + std::to_string(slice.before.size()) + " tokens before it");
  }
  for (int32_t position = 0; position < slice.start; ++position) {
    if (slice.before[position] == At(slice, position).token) continue;
    Fault(slice, "is told of another token at position " + std::to_string(position));
  }
}

void FakeModel::StepSlice(const SequenceSlice& slice, SliceResult* result) {
  const size_t count = slice.tokens.size();
  uint64_t digest = ReadHistory(slice);
  CheckTokensSoFar(slice);
  for (size_t i = 0; i < count; ++i) {
    const int32_t token = slice.tokens[i];
    const int32_t position = slice.start + static_cast<int32_t>(i);
    if (token < 0 || token >= options_.vocab_size) Fault(slice, "token outside the vocabulary");
    digest = Mix(digest, token);
    At(slice, position) = {position, token, digest};
    if (poisoned_.contains(token)) result->finite = false;
    if (i < slice.targets.size()) {
      result->scored.push_back(
          Score(digest, slice.targets[i], slice.sampling->prompt_top_log_probs));
    }
    if (i + slice.samples >= count) {
      ScoredToken drawn = Draw(digest, token, *slice.sampling, slice.prompt_length);
      if (!slice.masks.empty()) {
        drawn.id = FirstAllowed(slice, i + slice.samples - count, drawn.id);
      }
      result->sampled.push_back(std::move(drawn));
    }
  }
  if (slice.targets.size() > count) Fault(slice, "more targets than tokens");
  if (!result->finite) result->sampled.clear();
  tokens_computed_ += static_cast<int64_t>(count);
}

int32_t FakeModel::FirstAllowed(const SequenceSlice& slice, size_t sample, int32_t id) const {
  const auto words = static_cast<size_t>(TokenMask::WordsFor(options_.vocab_size));
  if (slice.masks.size() != words * slice.samples) Fault(slice, "a mask of another size");
  const auto mask = slice.masks.subspan(sample * words, words);
  for (int32_t tried = 0; tried < options_.vocab_size; ++tried) {
    const int32_t next = (id + tried) % options_.vocab_size;
    if ((mask[next / TokenMask::kWordBits] >> next % TokenMask::kWordBits & 1) != 0) return next;
  }
  Fault(slice, "a mask without ids");
}

ScoredToken FakeModel::Draw(uint64_t digest, int32_t last, const SamplingParams& sampling,
                            int32_t prompt_length) const {
  uint64_t x = Mix(digest, sampling.seed);
  x = Mix(x, std::bit_cast<uint32_t>(sampling.temperature));
  x = Mix(x, std::bit_cast<uint32_t>(sampling.top_p));
  x = Mix(x, static_cast<uint64_t>(sampling.top_k));
  if (sampling.reads_tokens()) x = Mix(x, static_cast<uint64_t>(prompt_length));
  const bool predictable = static_cast<int32_t>((x >> 32) % 100) < options_.predictable_percent;
  const int32_t id = static_cast<int32_t>(predictable ? (last + 1) % 7 : x % options_.vocab_size);
  if (sampling.top_log_probs < 0) return {.id = id, .log_prob = 0.0f, .rank = 0, .top = {}};
  return Score(digest, id, sampling.top_log_probs);
}

ScoredToken FakeModel::Score(uint64_t digest, int32_t token, int32_t top_log_probs) const {
  const auto log_prob = [&](int32_t id) {
    return -static_cast<float>(Mix(digest, id) % 4096) / 256.0f;
  };
  ScoredToken scored{.id = token, .log_prob = log_prob(token), .rank = 1, .top = {}};
  for (int32_t i = 0; i < top_log_probs; ++i) {
    const int32_t id = static_cast<int32_t>(Mix(digest, 1000 + i) % options_.vocab_size);
    scored.top.emplace_back(id, log_prob(id));
  }
  return scored;
}

std::vector<ScoredToken> FakeModel::Continue(std::vector<int32_t> prompt,
                                             const SamplingParams& sampling, int32_t max_tokens,
                                             std::span<const int32_t> stop_token_ids) const {
  uint64_t digest = kEmptyHistory;
  for (const int32_t token : prompt) digest = Mix(digest, token);
  int32_t last = prompt.back();
  const auto prompt_length = static_cast<int32_t>(prompt.size());
  const int32_t room = options_.max_model_len - prompt_length;
  std::vector<ScoredToken> tokens;
  for (int32_t i = 0; i < std::min(max_tokens, room); ++i) {
    tokens.push_back(Draw(digest, last, sampling, prompt_length));
    const int32_t id = tokens.back().id;
    if (std::ranges::find(stop_token_ids, id) != stop_token_ids.end()) break;
    digest = Mix(digest, id);
    last = id;
  }
  return tokens;
}

std::vector<ScoredToken> FakeModel::ScorePrompt(std::span<const int32_t> prompt,
                                                const SamplingParams& sampling) const {
  uint64_t digest = kEmptyHistory;
  std::vector<ScoredToken> scores;
  for (size_t i = 0; i + 1 < prompt.size(); ++i) {
    digest = Mix(digest, prompt[i]);
    scores.push_back(Score(digest, prompt[i + 1], sampling.prompt_top_log_probs));
  }
  return scores;
}

}  // namespace affine
