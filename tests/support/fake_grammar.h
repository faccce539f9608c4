// A grammar whose every step a test spells out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "model/token_mask.h"
#include "server/request/output_grammar.h"

namespace affine {

struct FakeGrammarOptions {
  int32_t vocab_size = 101;
  std::vector<std::vector<int32_t>> steps;  // ids allowed as token 0, 1, ...; then the output ends
  std::set<size_t> whole = {};              // after so many tokens it may end as well
  std::vector<int32_t> end_ids = {};
  size_t fails_at = SIZE_MAX;  // the mask after so many tokens
  size_t bytes = 0;
};

class FakeGrammar final : public OutputGrammar {
 public:
  explicit FakeGrammar(FakeGrammarOptions options) : options_(std::move(options)) {}
  std::unique_ptr<GrammarMatcher> NewMatcher() const override {
    return std::make_unique<Matcher>(options_);
  }
  size_t bytes() const override { return options_.bytes; }

 private:
  class Matcher final : public GrammarMatcher {
   public:
    explicit Matcher(const FakeGrammarOptions& options) : options_(options) {}
    bool Accept(int32_t id) override {
      const size_t step = taken_++;
      return step < options_.steps.size() &&
             std::ranges::find(options_.steps[step], id) != options_.steps[step].end();
    }
    bool FillMask(std::span<uint32_t> words) override {
      if (taken_ >= options_.fails_at) return false;
      TokenMask mask(options_.vocab_size);
      if (taken_ < options_.steps.size()) {
        for (const int32_t id : options_.steps[taken_]) mask.Add(id);
      }
      if (taken_ >= options_.steps.size() || options_.whole.contains(taken_)) {
        for (const int32_t id : options_.end_ids) mask.Add(id);
      }
      std::ranges::copy(mask.words(), words.begin());
      return true;
    }

   private:
    const FakeGrammarOptions options_;
    size_t taken_ = 0;
  };
  const FakeGrammarOptions options_;
};

}  // namespace affine
