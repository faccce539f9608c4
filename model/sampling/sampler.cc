#include "model/sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/sampling/philox.h"

namespace affine {
namespace {

// Top-p sorts this many best tokens first and all of them only if those do not reach it.
constexpr size_t kFirstSorted = 256;

}  // namespace

Sampler::Sampler(const Kernels& kernels, int32_t vocab_size)
    : kernels_(kernels), vocab_size_(vocab_size), weights_(vocab_size) {
  candidates_.reserve(vocab_size);
}

ScoredToken Sampler::Sample(const float* logits, const SamplingParams& params, int64_t position) {
  const bool greedy = params.temperature < kGreedyBelowTemperature;
  const int32_t id = greedy ? Greedy(logits) : Draw(logits, params, position);
  if (params.top_log_probs < 0) return {.id = id, .top = {}};
  return Score(logits, id, params.top_log_probs);
}

int32_t Sampler::Greedy(const float* logits) const {
  const float best = kernels_.max(logits, vocab_size_);
  return static_cast<int32_t>(std::find(logits, logits + vocab_size_, best) - logits);
}

// The best `count` candidates in front, in order.
void Sampler::SortBest(const float* logits, size_t count) {
  const auto better = [logits](int32_t a, int32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  count = std::min(count, candidates_.size());
  if (count < candidates_.size()) {
    std::nth_element(candidates_.begin(), candidates_.begin() + count, candidates_.end(), better);
  }
  std::sort(candidates_.begin(), candidates_.begin() + count, better);
}

int32_t Sampler::Draw(const float* logits, const SamplingParams& params, int64_t position) {
  const double u = UniformAt(params.seed, position);
  const float max = kernels_.max(logits, vocab_size_);
  std::copy(logits, logits + vocab_size_, weights_.begin());
  kernels_.exp_sum(weights_.data(), vocab_size_, max, 1.0f / params.temperature);
  const bool all = (params.top_k == 0 || params.top_k >= vocab_size_) && params.top_p >= 1.0f;
  if (all) return DrawFromAll(logits, u);
  Nucleus(logits, params);
  double sum = 0.0;
  for (int32_t id : candidates_) sum += weights_[id];
  double left = u * sum;
  for (int32_t id : candidates_) {
    left -= weights_[id];
    if (left < 0.0) return id;
  }
  return candidates_.front();  // rounding used up the last one's share
}

// Without a cut the order of tokens is free: ascending ids need no sort.
int32_t Sampler::DrawFromAll(const float* logits, double u) {
  double left = u * std::accumulate(weights_.begin(), weights_.end(), 0.0);
  for (int32_t id = 0; id < vocab_size_; ++id) {
    left -= weights_[id];
    if (left < 0.0) return id;
  }
  return Greedy(logits);
}

// candidates_ = what top-k and top-p leave, in descending order.
void Sampler::Nucleus(const float* logits, const SamplingParams& params) {
  candidates_.resize(vocab_size_);
  std::iota(candidates_.begin(), candidates_.end(), 0);
  if (params.top_k > 0 && params.top_k < vocab_size_) {
    SortBest(logits, params.top_k);
    const float kth = logits[candidates_[params.top_k - 1]];
    std::erase_if(candidates_, [&](int32_t id) { return logits[id] < kth; });
  }
  double total = 0.0;
  for (int32_t id : candidates_) total += weights_[id];
  size_t sorted =
      params.top_p >= 1.0f ? candidates_.size() : std::min(kFirstSorted, candidates_.size());
  for (;;) {
    SortBest(logits, sorted);
    double reached = 0.0;
    for (size_t i = 0; i < sorted; ++i) {
      reached += weights_[candidates_[i]];
      if (params.top_p < 1.0f && reached >= params.top_p * total) {
        candidates_.resize(i + 1);
        return;
      }
    }
    if (sorted == candidates_.size()) return;
    sorted = candidates_.size();
  }
}

ScoredToken Sampler::Score(const float* logits, int32_t id, int32_t top_log_probs) {
  const float max = kernels_.max(logits, vocab_size_);
  std::copy(logits, logits + vocab_size_, weights_.begin());
  const float log_sum = std::log(kernels_.exp_sum(weights_.data(), vocab_size_, max, 1.0f));
  const auto log_prob = [&](int32_t i) { return (logits[i] - max) - log_sum; };
  ScoredToken token = {.id = id, .log_prob = log_prob(id), .rank = 1, .top = {}};
  for (int32_t i = 0; i < vocab_size_; ++i) token.rank += logits[i] > logits[id];
  if (top_log_probs <= 0) return token;
  candidates_.resize(vocab_size_);
  std::iota(candidates_.begin(), candidates_.end(), 0);
  SortBest(logits, top_log_probs);
  for (int32_t i = 0; i < std::min(top_log_probs, vocab_size_); ++i) {
    token.top.emplace_back(candidates_[i], log_prob(candidates_[i]));
  }
  return token;
}

}  // namespace affine
