// One step of cutting a text into the words that byte pair encoding works on.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/config_node.h"
#include "model/tokenizer/regex.h"
#include "model/tokenizer/split_behavior.h"

namespace affine {

/// What one thread needs while it splits.
struct SplitScratch {
  RegexScratch regex;
  std::vector<SplitPart> parts;
};

/// Immutable and safe to use from several threads, one scratch each.
class SplitStep {
 public:
  virtual ~SplitStep() = default;
  /// Appends the non-empty pieces of `text` (valid UTF-8, not empty) to `pieces`. The step sees
  /// nothing of what stands before and behind `text`.
  virtual void Split(std::string_view text, SplitScratch* scratch,
                     std::vector<std::string_view>* pieces) const = 0;
};

/// `Split`: cuts at a pattern. Throws ModelError for a pattern or behavior that is not supported.
std::unique_ptr<SplitStep> MakePatternStep(const ConfigNode& config);

/// `Digits`: cuts out numeric characters, one by one or in runs.
std::unique_ptr<SplitStep> MakeDigitStep(const ConfigNode& config);

/// The pattern of GPT-2, which `ByteLevel` cuts at when its use_regex is true.
std::unique_ptr<SplitStep> MakeByteLevelStep();

}  // namespace affine
