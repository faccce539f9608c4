#include "model/tokenizer/split_step.h"

#include <stdexcept>
#include <utility>

#include "model/quoted.h"
#include "model/tokenizer/code_point.h"

namespace affine {
namespace {

constexpr char kByteLevelPattern[] =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class RegexStep : public SplitStep {
 public:
  RegexStep(std::string_view pattern, SplitBehavior behavior, bool invert)
      : regex_(pattern), behavior_(behavior), invert_(invert) {}

  void Split(std::string_view text, SplitScratch* scratch,
             std::vector<std::string_view>* pieces) const override {
    if (behavior_ == SplitBehavior::kIsolated) {
      VisitParts(text, scratch, [&](const SplitPart& part) {
        if (part.end > part.begin) {
          pieces->push_back(text.substr(part.begin, part.end - part.begin));
        }
      });
      return;
    }
    scratch->parts.clear();
    VisitParts(text, scratch, [&](const SplitPart& part) { scratch->parts.push_back(part); });
    ApplySplitBehavior(text, behavior_, &scratch->parts, pieces);
  }

 private:
  /// Visits matches and what lies between them, in order. An empty match that touches the end of
  /// the match before it does not count.
  template <typename Visit>
  void VisitParts(std::string_view text, SplitScratch* scratch, const Visit& visit) const {
    size_t done = 0;  // the end of the last match
    bool matched = false;
    Regex::Match match;
    for (size_t from = 0;
         from <= text.size() && regex_.Find(text, from, &scratch->regex, &match);) {
      if (match.begin == match.end && matched && match.end == done) {
        from += from < text.size() ? ReadCodePoint(text, from).length : 1;
        continue;
      }
      if (done != match.begin) visit(SplitPart{done, match.begin, invert_});
      visit(SplitPart{match.begin, match.end, !invert_});
      from = done = match.end;
      matched = true;
    }
    if (done != text.size()) visit(SplitPart{done, text.size(), invert_});
  }

  Regex regex_;
  SplitBehavior behavior_;
  bool invert_;
};

class LiteralStep : public SplitStep {
 public:
  LiteralStep(std::string literal, SplitBehavior behavior, bool invert)
      : literal_(std::move(literal)), behavior_(behavior), invert_(invert) {}

  void Split(std::string_view text, SplitScratch* scratch,
             std::vector<std::string_view>* pieces) const override {
    scratch->parts.clear();
    size_t done = 0;
    size_t at;
    while ((at = text.find(literal_, done)) != std::string_view::npos) {
      if (done != at) scratch->parts.push_back({done, at, invert_});
      done = at + literal_.size();
      scratch->parts.push_back({at, done, !invert_});
    }
    if (done != text.size()) scratch->parts.push_back({done, text.size(), invert_});
    ApplySplitBehavior(text, behavior_, &scratch->parts, pieces);
  }

 private:
  std::string literal_;
  SplitBehavior behavior_;
  bool invert_;
};

class DigitStep : public SplitStep {
 public:
  explicit DigitStep(bool individual) : individual_(individual) {}

  void Split(std::string_view text, SplitScratch*,
             std::vector<std::string_view>* pieces) const override {
    size_t begin = 0;
    bool last_numeric = false;
    for (size_t at = 0; at < text.size();) {
      const CodePoint c = ReadCodePoint(text, at);
      const bool numeric = IsNumeric(c.value);
      const bool cut = numeric != last_numeric || (numeric && individual_);
      if (cut && at > begin) {
        pieces->push_back(text.substr(begin, at - begin));
        begin = at;
      }
      last_numeric = numeric;
      at += c.length;
    }
    pieces->push_back(text.substr(begin));
  }

 private:
  bool individual_;
};

SplitBehavior ReadBehavior(const ConfigNode& config) {
  const std::string& name = config.String();
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  config.Refuse("behavior " + Quoted(name) +
                " is not known; known are Isolated, Removed, MergedWithPrevious, MergedWithNext "
                "and Contiguous");
}

}  // namespace

std::unique_ptr<SplitStep> MakePatternStep(const ConfigNode& config) {
  const SplitBehavior behavior = ReadBehavior(config.Member("behavior"));
  const bool invert = config.Member("invert").Bool();
  const ConfigNode pattern = config.Member("pattern");
  const auto kinds = pattern.Members();
  if (kinds.size() != 1) pattern.Refuse("must have one member, Regex or String");
  const auto& [kind, text] = kinds[0];
  if (kind == "String") {
    if (text.String().empty()) text.Refuse("must not be empty");
    return std::make_unique<LiteralStep>(text.String(), behavior, invert);
  }
  if (kind != "Regex") pattern.Refuse("pattern " + Quoted(kind) + " is neither Regex nor String");
  try {
    return std::make_unique<RegexStep>(text.String(), behavior, invert);
  } catch (const std::invalid_argument& error) {
    text.Refuse(Quoted(text.String()) + ": " + error.what());
  }
}

std::unique_ptr<SplitStep> MakeDigitStep(const ConfigNode& config) {
  return std::make_unique<DigitStep>(config.Member("individual_digits").Bool());
}

std::unique_ptr<SplitStep> MakeByteLevelStep() {
  return std::make_unique<RegexStep>(kByteLevelPattern, SplitBehavior::kIsolated, false);
}

}  // namespace affine
