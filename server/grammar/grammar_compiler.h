// Turns forms into grammars for one model's tokens. XGrammar behind it; fakes in tests.
#pragma once

#include <chrono>

#include "server/request/grammar_source.h"

namespace affine {

class GrammarCompiler {
 public:
  virtual ~GrammarCompiler() = default;
  /// Called by one thread at a time. kBadInput for a form that is no form, can't be kept to in
  /// full, allows no text, or takes more than `most` of the processor's time. Never throws.
  virtual GrammarResult Compile(const StructuredOutput& form, std::chrono::milliseconds most) = 0;
};

}  // namespace affine
