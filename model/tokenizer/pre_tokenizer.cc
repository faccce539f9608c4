#include "model/tokenizer/pre_tokenizer.h"

#include <utility>

#include "model/quoted.h"

namespace affine {

PreTokenizer::PreTokenizer(const ConfigNode& config) {
  if (!config.IsNull()) AddStep(config);
  if (!has_byte_level_) config.Refuse("has no ByteLevel; only byte-level tokenizers are supported");
}

void PreTokenizer::AddStep(const ConfigNode& config) {
  const std::string& type = config.Member("type").String();
  if (type == "Sequence") {
    for (const ConfigNode& element : config.Member("pretokenizers").Elements()) AddStep(element);
    return;
  }
  if (has_byte_level_) config.Refuse(Quoted(type) + " stands behind ByteLevel, which must be last");
  if (steps_.size() == kMaxSteps) {
    config.Refuse("more than " + std::to_string(kMaxSteps) + " steps");
  }
  if (type == "Split") {
    steps_.push_back(MakePatternStep(config));
  } else if (type == "Digits") {
    steps_.push_back(MakeDigitStep(config));
  } else if (type == "ByteLevel") {
    AddByteLevel(config);
  } else {
    config.Refuse("pre-tokenizer " + Quoted(type) +
                  " is not supported; supported are Sequence, Split, Digits and ByteLevel");
  }
}

void PreTokenizer::AddByteLevel(const ConfigNode& config) {
  has_byte_level_ = true;
  add_prefix_space_ = config.Member("add_prefix_space").Bool();
  if (config.Member("use_regex").BoolOr(true)) byte_level_step_ = MakeByteLevelStep();
}

void PreTokenizer::Split(std::string_view text, Scratch* scratch) const {
  std::vector<std::string_view>& pieces = scratch->pieces;
  std::vector<std::string_view> finer;
  pieces.assign(1, text);
  const auto refine = [&](const SplitStep& step) {
    if (pieces.size() == 1) {
      const std::string_view whole = pieces[0];
      pieces.clear();
      step.Split(whole, &scratch->split, &pieces);
      return;
    }
    finer.clear();
    finer.reserve(2 * pieces.size());
    for (const std::string_view piece : pieces) step.Split(piece, &scratch->split, &finer);
    pieces.swap(finer);
  };
  for (const auto& step : steps_) refine(*step);
  if (add_prefix_space_) AddPrefixSpaces(scratch);
  if (byte_level_step_ != nullptr) refine(*byte_level_step_);
}

void PreTokenizer::AddPrefixSpaces(Scratch* scratch) {
  size_t bytes = 0;
  for (const std::string_view piece : scratch->pieces) bytes += piece.size() + 1;
  scratch->spaced.clear();
  scratch->spaced.reserve(bytes);  // so that pieces stay where they are
  for (std::string_view& piece : scratch->pieces) {
    const size_t begin = scratch->spaced.size();
    if (!piece.starts_with(' ')) scratch->spaced += ' ';
    scratch->spaced += piece;
    piece = std::string_view(scratch->spaced).substr(begin);
  }
}

}  // namespace affine
