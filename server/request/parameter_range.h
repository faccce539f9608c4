// A number's name and limits, and the sentence that says what is outside.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/request/request_error.h"

namespace affine {

/// `value` in the fewest digits that read back the same; as a float where it is one exactly, so
/// that 0.1f is named 0.1.
std::string DecimalOf(double value);

/// Whole numbers in [low, high].
struct IntegerRange {
  std::string_view name;
  int64_t low = 0;
  int64_t high = 0;
  /// None if `value` is inside; else kBadInput, "`name` is 7; it must be an integer in [0, 5]".
  std::optional<RequestError> Check(int64_t value) const;
};

/// Finite numbers in [low, high], or in (low, high] with `above_low`.
struct RealRange {
  std::string_view name;
  double low = 0;
  double high = 0;
  bool above_low = false;
  /// None if `value` is inside; else kBadInput, "`name` is nan; it must be a finite number in ...".
  std::optional<RequestError> Check(double value) const;
};

}  // namespace affine
