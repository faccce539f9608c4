// How often a sequence's guesses came true.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace affine {

/// An exponential mean for each length of match, since guesses after one token that was there
/// before are worth less than guesses after three. Plain data, part of a sequence.
class GuessRecord {
 public:
  static constexpr int32_t kLongestMatch = 16;  // tokens
  static constexpr double kRate = 1.0 / 8.0;    // of the latest guess

  /// Without experience: 0.2, 0.4 and 0.6 after one, two and more tokens.
  GuessRecord() {
    for (int32_t n = 0; n <= kLongestMatch; ++n) hit_rates_[n] = std::min(0.2 * n, 0.6);
  }
  explicit GuessRecord(double hit_rate) { hit_rates_.fill(hit_rate); }

  /// `match`: how many tokens stood together before, 1 to kLongestMatch; 0..1.
  double hit_rate(int32_t match) const { return hit_rates_[match]; }
  void Note(int32_t match, bool hit) {
    hit_rates_[match] += kRate * ((hit ? 1.0 : 0.0) - hit_rates_[match]);
  }

 private:
  std::array<double, kLongestMatch + 1> hit_rates_;
};

}  // namespace affine
