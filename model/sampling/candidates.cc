#include "model/sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace affine {
namespace {

// Cuts by a sum sort this many tokens first and all of them only if those do not reach it.
constexpr size_t kFirstSorted = 256;

}  // namespace

Candidates::Candidates(int32_t vocab_size) : vocab_size_(vocab_size) { ids_.reserve(vocab_size); }

void Candidates::TakeAll() {
  ids_.resize(vocab_size_);
  std::iota(ids_.begin(), ids_.end(), 0);
}

double Candidates::SumOf(const float* weights) const {
  double sum = 0.0;
  for (const int32_t id : ids_) sum += weights[id];
  return sum;
}

void Candidates::SortBest(const float* logits, size_t count) {
  const auto better = [logits](int32_t a, int32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  count = std::min(count, ids_.size());
  if (count < ids_.size()) {
    std::nth_element(ids_.begin(), ids_.begin() + count, ids_.end(), better);
  }
  std::sort(ids_.begin(), ids_.begin() + count, better);
}

void Candidates::KeepMinP(const WeighedRow& row, float min_p) {
  float largest = 0.0f;
  for (const int32_t id : ids_) largest = std::max(largest, row.weights[id]);
  std::erase_if(ids_, [&](int32_t id) { return row.weights[id] < min_p * largest; });
}

void Candidates::KeepTopK(const WeighedRow& row, int32_t top_k) {
  if (static_cast<size_t>(top_k) >= ids_.size()) return;
  SortBest(row.logits, top_k);
  const float kth = row.logits[ids_[top_k - 1]];
  std::erase_if(ids_, [&](int32_t id) { return row.logits[id] < kth; });
}

void Candidates::KeepTopP(const WeighedRow& row, float top_p) {
  const double total = SumOf(row.weights);
  size_t sorted = top_p >= 1.0f ? ids_.size() : std::min(kFirstSorted, ids_.size());
  for (;;) {
    SortBest(row.logits, sorted);
    double reached = 0.0;
    for (size_t i = 0; i < sorted; ++i) {
      reached += row.weights[ids_[i]];
      if (top_p < 1.0f && reached >= top_p * total) {
        ids_.resize(i + 1);
        return;
      }
    }
    if (sorted == ids_.size()) return;
    sorted = ids_.size();
  }
}

// Logarithms come from the logits: those of weights would be dear, and -infinity for tiny ones.
void Candidates::KeepTypical(const WeighedRow& row, float typical_p) {
  std::erase_if(ids_, [&](int32_t id) { return row.weights[id] == 0.0f; });
  const double total = SumOf(row.weights), log_total = std::log(total);
  const auto information = [&](int32_t id) {
    return log_total - (static_cast<double>(row.logits[id]) - row.max) / row.temperature;
  };
  double entropy = 0.0;
  for (const int32_t id : ids_) entropy += row.weights[id] / total * information(id);
  const auto deviation = [&](int32_t id) { return std::abs(information(id) - entropy); };
  deviations_.clear();
  for (const int32_t id : ids_) deviations_.emplace_back(deviation(id), id);
  double furthest = deviations_.front().first, reached = 0.0;
  for (size_t begin = 0, end = kFirstSorted; begin < deviations_.size(); end *= 8) {
    end = std::min(end, deviations_.size());
    const auto first = deviations_.begin() + begin, last = deviations_.begin() + end;
    if (last != deviations_.end()) std::nth_element(first, last, deviations_.end());
    std::sort(first, last);
    for (; begin < end && reached < typical_p * total; ++begin) {
      furthest = deviations_[begin].first;
      reached += row.weights[deviations_[begin].second];
    }
    if (begin < end) break;
  }
  std::erase_if(ids_, [&](int32_t id) { return deviation(id) > furthest; });
}

}  // namespace affine
