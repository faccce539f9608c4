#include "server/request/parameter_range.h"

#include <charconv>
#include <cmath>

namespace affine {

std::string DecimalOf(double value) {
  if (std::isnan(value)) return "nan";
  char digits[64];
  const auto single = static_cast<float>(value);
  const std::to_chars_result end = static_cast<double>(single) == value
                                       ? std::to_chars(digits, digits + sizeof(digits), single)
                                       : std::to_chars(digits, digits + sizeof(digits), value);
  return std::string(digits, end.ptr);
}

std::optional<RequestError> IntegerRange::Check(int64_t value) const {
  if (value >= low && value <= high) return std::nullopt;
  const std::string field(name);
  return RequestError{ErrorCause::kBadInput,
                      "`" + field + "` is " + std::to_string(value) +
                          "; it must be an integer in [" + std::to_string(low) + ", " +
                          std::to_string(high) + "]",
                      field};
}

std::optional<RequestError> RealRange::Check(double value) const {
  const bool inside =
      std::isfinite(value) && (above_low ? value > low : value >= low) && value <= high;
  if (inside) return std::nullopt;
  const std::string field(name);
  return RequestError{ErrorCause::kBadInput,
                      "`" + field + "` is " + DecimalOf(value) +
                          "; it must be a finite number in " + (above_low ? "(" : "[") +
                          DecimalOf(low) + ", " + DecimalOf(high) + "]",
                      field};
}

}  // namespace affine
