#include "server/grammar/xgrammar/trial_walk.h"

#include <algorithm>
#include <vector>

#include "model/token_mask.h"
#include "server/grammar/xgrammar/token_bits.h"

namespace affine {
namespace {

constexpr int kTokens = 24;

/// Numbers without regard to quality.
class Numbers {
 public:
  size_t Below(size_t count) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return (state_ >> 33) % count;
  }

 private:
  uint64_t state_ = 1;
};

}  // namespace

TrialCost WalkOnTrial(const xgrammar::CompiledGrammar& compiled, const WorkBudget& budget,
                      int64_t most) {
  const int32_t vocab_size = compiled.GetTokenizerInfo().GetVocabSize();
  xgrammar::GrammarMatcher matcher(compiled);
  std::vector<uint32_t> mask(TokenMask::WordsFor(vocab_size));
  std::vector<int32_t> allowed;
  Numbers numbers;
  TrialCost cost;
  int64_t sum = 0, tokens = 0;
  while (tokens < kTokens && cost.worst <= most) {
    const int64_t before = budget.spent();
    FillTokenBits(matcher, mask);
    allowed.clear();
    for (int32_t id = 0; id < vocab_size; ++id) {
      if ((mask[id / TokenMask::kWordBits] >> id % TokenMask::kWordBits & 1) != 0) {
        allowed.push_back(id);
      }
    }
    for (const int32_t stop : matcher.GetStopTokenIds()) std::erase(allowed, stop);
    if (allowed.empty()) break;
    cost.begins = true;
    matcher.AcceptToken(allowed[numbers.Below(allowed.size())]);
    const int64_t spent = budget.spent() - before;
    cost.worst = std::max(cost.worst, spent);
    sum += spent;
    ++tokens;
  }
  cost.mean = tokens > 0 ? sum / tokens : 0;
  return cost;
}

}  // namespace affine
