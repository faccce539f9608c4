// How long a step takes, learned from the steps before it.
#pragma once

#include <array>
#include <cstdint>

namespace affine {

/// What a step computes, as far as its time depends on it.
struct StepWork {
  int64_t decode_tokens = 0;
  int64_t decode_keys = 0;  // that all these tokens attend to together, their own included
  int64_t prefill_tokens = 0;
  int64_t prefill_keys = 0;  // the same

  /// Tokens [start, start + count) of a sequence.
  void AddDecode(int32_t start, int32_t count);
  void AddPrefill(int32_t start, int32_t count);
};

/// A step is taken to cost so much for itself, for each token and for each key that a token attends
/// to, of decodes and of prefill: five costs, always positive. Each step that was timed corrects
/// them in proportion to their share in its time and to how little was known of them, so that steps
/// of one kind do not blur what is known of the other. A single step's surprise is bounded.
/// Not thread-safe.
class StepTimeModel {
 public:
  /// Starts from costs of a slow machine, so that first chunks are short rather than long.
  StepTimeModel();

  /// A step with this work took so long. Times that are not positive and finite are ignored.
  void Learn(const StepWork& work, double seconds);
  /// Steps that it learned from.
  int64_t learned() const { return learned_; }
  /// Expected, positive and finite.
  double Seconds(const StepWork& work) const;
  /// How much longer tokens [start, start + count) of a prompt are expected to make a step.
  double PrefillSeconds(int32_t start, int32_t count) const;
  /// The most tokens of a prompt from `start` on that are expected to make a step at most so much
  /// longer; 0 without time.
  int32_t PrefillWithin(double seconds, int32_t start) const;
  /// How many tokens like those that `work` decodes, one at least, take as long as a step takes for
  /// itself.
  double FixedDecodeTokens(const StepWork& work) const;

 private:
  enum Part { kStep, kDecodeToken, kDecodeKey, kPrefillToken, kPrefillKey, kNumParts };
  using Parts = std::array<double, kNumParts>;
  /// What of each part the work has.
  static Parts AmountsOf(const StepWork& work);

  int64_t learned_ = 0;
  Parts costs_;                                // seconds
  std::array<Parts, kNumParts> covariance_{};  // of what is known of the costs' logarithms
};

}  // namespace affine
