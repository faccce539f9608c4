// How much one rendering may do, so that no template can stall or exhaust the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "model/jinja/template_error.h"

namespace affine::jinja {

/// What a template may be. Published ones have at most a few tens of kilobytes.
inline constexpr size_t kMaxTemplateBytes = size_t{512} << 10;
/// Deepest nesting of a template's statements, and of the tree of one expression.
inline constexpr int kMaxTemplateDepth = 100;
/// Deepest nesting of lists and dicts in a value.
inline constexpr int kMaxValueDepth = 100;
/// Most evaluations that are under way inside one another; macros add theirs.
inline constexpr int kMaxEvaluationDepth = 400;
/// Most numbers in a range, as in Jinja's sandbox.
inline constexpr int64_t kMaxRange = 100'000;

/// Counts down the work of one rendering. One thread.
class WorkBudget {
 public:
  static constexpr int64_t kSteps = 1'000'000;  // these two beside what the input adds
  static constexpr int64_t kBytes = int64_t{32} << 20;
  static constexpr int64_t kStepsForValue = 256;
  static constexpr int64_t kCopiesOfInput = 32;  // looking through 64 bytes is a step

  /// For an input of `input_bytes` in `input_values` values.
  WorkBudget(size_t input_bytes, size_t input_values)
      : steps_(kSteps + static_cast<int64_t>(input_values) * kStepsForValue +
               static_cast<int64_t>(input_bytes) / 64 * kCopiesOfInput),
        bytes_(kBytes + static_cast<int64_t>(input_bytes) * kCopiesOfInput) {}
  /// `count` things are looked at.
  void Steps(int64_t count = 1) {
    steps_ -= count;
    if (steps_ < 0) throw TemplateError("the template takes too many steps for this conversation");
  }
  /// `count` bytes of text or values are made.
  void Bytes(size_t count) {
    // Compared before it is subtracted: a count may be anything.
    if (count > static_cast<size_t>(bytes_)) {
      throw TemplateError("the template makes too much text; the limit is " +
                          std::to_string(kBytes) + " bytes and " + std::to_string(kCopiesOfInput) +
                          " times the conversation");
    }
    bytes_ -= static_cast<int64_t>(count);
  }

 private:
  int64_t steps_;
  int64_t bytes_;
};

}  // namespace affine::jinja
