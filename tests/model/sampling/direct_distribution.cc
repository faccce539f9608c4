#include "tests/model/sampling/direct_distribution.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace affine {
namespace {

using Numbers = std::vector<double>;

constexpr double kRuledOut = -std::numeric_limits<double>::infinity();

void Normalize(Numbers& p) {
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& v : p) v /= sum;
}

// Keeps tokens in order of `key`, ascending, until their probability reaches `mass`.
void KeepSmallestSet(Numbers& p, const std::function<double(int32_t)>& key, double mass,
                     bool keep_ties) {
  std::vector<int32_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
  double reached = 0.0, last = 0.0;
  for (const int32_t id : order) {
    const bool keep = reached < mass || (keep_ties && key(id) == last);
    reached += p[id];
    if (keep) {
      last = key(id);
    } else {
      p[id] = 0.0;
    }
  }
  Normalize(p);
}

void CutTopK(Numbers& p, int32_t top_k) {
  if (top_k <= 0 || static_cast<size_t>(top_k) >= p.size()) return;
  Numbers sorted = p;
  std::sort(sorted.rbegin(), sorted.rend());
  const double kth = sorted[top_k - 1];
  for (double& v : p) v = v < kth ? 0.0 : v;
  Normalize(p);
}

void CutTypical(Numbers& p, double mass) {
  const auto information = [&](int32_t id) {
    return p[id] > 0.0 ? -std::log(p[id]) : std::numeric_limits<double>::infinity();
  };
  double entropy = 0.0;
  for (size_t id = 0; id < p.size(); ++id) {
    if (p[id] > 0.0) entropy += p[id] * information(static_cast<int32_t>(id));
  }
  Numbers deviations;
  for (size_t id = 0; id < p.size(); ++id) {
    deviations.push_back(std::abs(information(static_cast<int32_t>(id)) - entropy));
  }
  KeepSmallestSet(
      p, [&](int32_t id) { return deviations[id]; }, mass, /*keep_ties=*/true);
}

std::vector<int32_t> OutputOf(const TokensSoFar& so_far) {
  std::vector<int32_t> output;
  for (int32_t i = so_far.prompt_length; i < so_far.size(); ++i) output.push_back(so_far[i]);
  return output;
}

}  // namespace

Numbers DirectLogits(const std::vector<float>& logits, const SamplingParams& params,
                     const TokensSoFar& so_far) {
  Numbers x(logits.begin(), logits.end());
  for (const auto& [id, bias] : params.logit_bias) x[id] += bias;
  const std::vector<int32_t> output = OutputOf(so_far);
  for (int32_t id = 0; id < static_cast<int32_t>(x.size()); ++id) {
    const auto count = std::count(output.begin(), output.end(), id);
    bool seen = count > 0;
    for (int32_t i = 0; i < so_far.prompt_length; ++i) seen |= so_far[i] == id;
    const double repetition = params.repetition_penalty;
    if (seen) x[id] = x[id] > 0.0 ? x[id] / repetition : x[id] * repetition;
    x[id] -= static_cast<double>(count) * params.frequency_penalty;
    if (count > 0) x[id] -= params.presence_penalty;
    if (!params.allowed.empty() && !params.allowed.Has(id)) x[id] = kRuledOut;
  }
  const Numbers without_bans = x;
  for (const std::vector<int32_t>& word : params.bad_words) {
    const size_t prefix = word.size() - 1;
    const bool fits = prefix <= output.size();
    if (fits && std::equal(word.begin(), word.end() - 1, output.end() - prefix)) {
      x[word.back()] = kRuledOut;
    }
  }
  if (static_cast<int32_t>(output.size()) < params.min_tokens) {
    for (const int32_t id : params.held_back_ids) x[id] = kRuledOut;
  }
  return *std::max_element(x.begin(), x.end()) == kRuledOut ? without_bans : x;
}

Numbers DirectDistribution(const std::vector<float>& logits, const SamplingParams& params,
                           const TokensSoFar& so_far) {
  Numbers p = DirectLogits(logits, params, so_far);
  const double max = *std::max_element(p.begin(), p.end());
  for (double& v : p) v = std::exp((v - max) / params.temperature);
  Normalize(p);
  const double floor = params.min_p * *std::max_element(p.begin(), p.end());
  for (double& v : p) v = v < floor ? 0.0 : v;
  Normalize(p);
  CutTopK(p, params.top_k);
  if (params.top_p < 1.0f) {
    const Numbers before = p;
    KeepSmallestSet(
        p, [&](int32_t id) { return -before[id]; }, params.top_p, /*keep_ties=*/false);
  }
  if (params.typical_p < 1.0f) CutTypical(p, params.typical_p);
  return p;
}

}  // namespace affine
