#include "server/grammar/xgrammar/xgrammar_grammar.h"

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "server/grammar/xgrammar/token_bits.h"
#include "server/grammar/xgrammar/work_budget.h"

namespace affine {
namespace {

class XGrammarMatcher final : public GrammarMatcher {
 public:
  explicit XGrammarMatcher(const xgrammar::CompiledGrammar& compiled) : matcher_(compiled) {}

  bool Accept(int32_t id) override {
    allowance_ = std::min(allowance_ + kWorkOfToken, kMostWorkAtOnce);
    return WithinAllowance([&] { return matcher_.AcceptToken(id); });
  }

  bool FillMask(std::span<uint32_t> words) override {
    return WithinAllowance([&] {
      FillTokenBits(matcher_, words);
      return true;
    });
  }

 private:
  template <typename Work>
  bool WithinAllowance(const Work& work) {
    if (failed_) return false;
    try {
      const WorkBudget budget(allowance_);
      failed_ = !work();
      allowance_ -= budget.spent();
    } catch (const std::exception&) {  // the caller ends its request for it
      failed_ = true;
    }
    return !failed_;
  }

  xgrammar::GrammarMatcher matcher_;
  int64_t allowance_ = kMostWorkAtOnce;
  bool failed_ = false;  // its state may be anything
};

}  // namespace

XGrammarGrammar::XGrammarGrammar(xgrammar::CompiledGrammar compiled)
    : compiled_(std::move(compiled)), bytes_(compiled_.MemorySizeBytes()) {}

std::unique_ptr<GrammarMatcher> XGrammarGrammar::NewMatcher() const {
  const WorkBudget budget(kMostWorkAtOnce);
  return std::make_unique<XGrammarMatcher>(compiled_);
}

}  // namespace affine
