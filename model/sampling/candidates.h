// Which tokens a draw is among, after the parameters have cut.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace affine {

/// One row's logits, and the exponentials that probabilities are shares of.
struct WeighedRow {
  const float* logits;   // [vocab]
  const float* weights;  // [vocab], exp((logit - max) / temperature)
  float max;             // of logits, finite
  float temperature;
};

/// Each cut is of what the cuts before it left, probabilities being shares of that. One for each
/// thread: keeps working memory.
class Candidates {
 public:
  explicit Candidates(int32_t vocab_size);

  /// All ids, in ascending order.
  void TakeAll();
  /// Those whose probability is at least `min_p` times that of the most likely one. Keeps order.
  void KeepMinP(const WeighedRow& row, float min_p);
  /// The `top_k` most likely, and ties with the last of these.
  void KeepTopK(const WeighedRow& row, int32_t top_k);
  /// The smallest set of most likely tokens whose probability reaches `top_p`, in descending order.
  /// 1: all of them.
  void KeepTopP(const WeighedRow& row, float top_p);
  /// The smallest set whose probability reaches `typical_p` of the tokens whose information, -log
  /// p, is closest to the entropy of what is left, and ties with the last of these. Keeps order.
  void KeepTypical(const WeighedRow& row, float typical_p);
  /// Brings the `count` best of all in front, in descending order of logit, ties by ascending id.
  void SortBest(const float* logits, size_t count);

  std::span<const int32_t> ids() const { return ids_; }

 private:
  double SumOf(const float* weights) const;

  const int32_t vocab_size_;
  std::vector<int32_t> ids_;
  std::vector<std::pair<double, int32_t>> deviations_;  // of the information from the entropy
};

}  // namespace affine
