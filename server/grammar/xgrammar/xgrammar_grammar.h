// A grammar compiled by XGrammar, and matchers of it.
#pragma once

#include <xgrammar/xgrammar.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "server/request/output_grammar.h"

namespace affine {

/// Units of work (WorkBudget) that a matcher may spend for each token and its mask, half a
/// millisecond, and how many it may have saved up. Ordinary grammars take some hundreds.
inline constexpr int64_t kWorkOfToken = 60'000;
inline constexpr int64_t kMostWorkAtOnce = 1'000'000;

class XGrammarGrammar final : public OutputGrammar {
 public:
  explicit XGrammarGrammar(xgrammar::CompiledGrammar compiled);
  std::unique_ptr<GrammarMatcher> NewMatcher() const override;
  size_t bytes() const override { return bytes_; }

 private:
  const xgrammar::CompiledGrammar compiled_;
  const size_t bytes_;
};

}  // namespace affine
