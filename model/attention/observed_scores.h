// What is kept of the scores of observed queries while the core takes their keys part by part.
#pragma once

#include <cstdint>
#include <vector>

namespace affine {

/// Of one query's scores s over its visible keys, with p their softmax.
struct ScoreStatistics {
  float entropy = 0.0f;           // -sum_j p_j log p_j, nats
  float first_token_mass = 0.0f;  // p_0
  float mean_score = 0.0f;
  float largest_score = 0.0f;
};

/// Rows of one tile. Parts come in ascending order of keys, for each Keep and then Sum. A part's
/// sums are brought to the larger maximum as the core brings its exponentials, so that the parts'
/// borders change nothing but rounding.
class ObservedScores {
 public:
  ObservedScores(int64_t rows, int64_t part_keys);

  /// scores [visible] of the row's keys [begin, begin + visible), before the exponentials.
  void Keep(int64_t row, const float* scores, int64_t visible, int64_t begin);
  /// What the core knows of a row's exponentials, e^(s - max): of the part and of the keys before.
  struct Part {
    const float* weights;  // [visible]: the part's exponentials
    float max, sum;        // of the part
    float old_max, old_sum;
  };
  void Sum(int64_t row, const Part& part);
  /// Once all parts are in; `max` and `sum` are those of all keys.
  ScoreStatistics Of(int64_t row, float max, float sum) const;

 private:
  struct Row {
    float first_score = 0.0f;   // of the sequence's first key
    int64_t visible = 0;        // keys of the part at hand
    int64_t keys = 0;           // of all parts so far
    double score_sum = 0.0;     // sum of s
    double weighted_sum = 0.0;  // sum of e^(s - max) (s - max)
  };
  int64_t part_keys_;
  std::vector<Row> rows_;
  std::vector<float> scores_;  // [rows, part_keys]: of the part at hand
};

}  // namespace affine
