// What a row more costs a step, as measured.
#pragma once

#include <cstdint>

namespace affine {

/// Fits seconds = fixed + rows * each to the steps lately taken, in which older ones weigh ever
/// less. Where rows hardly differed, the assumption that a step's fixed part weighs kAssumedRows
/// takes over. A function of what it was told alone. Not thread-safe.
class StepCost {
 public:
  static constexpr double kAssumedRows = 8.0;

  /// A step of so many rows took so long; a time that is not above 0 is ignored.
  void Note(int32_t rows, double seconds);
  /// fixed / each: how many rows would take as long as a step's fixed part.
  double fixed_rows() const;

 private:
  int64_t steps_ = 0;
  double mean_rows_ = 0.0;
  double mean_seconds_ = 0.0;
  double variance_ = 0.0;    // of rows
  double covariance_ = 0.0;  // of rows and seconds
};

}  // namespace affine
