// From text to the words that byte pair encoding works on.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/config_node.h"
#include "model/tokenizer/split_step.h"

namespace affine {

/// A chain of steps that ends in `ByteLevel`. The words are plain UTF-8 here: that ByteLevel writes
/// each byte as a character of its own is undone in the vocabulary instead.
class PreTokenizer {
 public:
  static constexpr size_t kMaxSteps = 32;

  /// Throws ModelError, naming the type, for a pre-tokenizer that is not supported, and for a chain
  /// that does not end in its only ByteLevel.
  explicit PreTokenizer(const ConfigNode& config);

  struct Scratch {
    SplitScratch split;
    std::vector<std::string_view> pieces;
    std::string spaced;  // the text again, when spaces had to be put in
  };
  /// The words of `text` (valid UTF-8, not empty), in `scratch->pieces`. They point into `text` or
  /// into `scratch` and live until either changes. Safe from several threads, one scratch each.
  void Split(std::string_view text, Scratch* scratch) const;

 private:
  void AddStep(const ConfigNode& config);
  void AddByteLevel(const ConfigNode& config);
  static void AddPrefixSpaces(Scratch* scratch);

  std::vector<std::unique_ptr<SplitStep>> steps_;
  std::unique_ptr<SplitStep> byte_level_step_;  // null without use_regex
  bool add_prefix_space_ = false;
  bool has_byte_level_ = false;
};

}  // namespace affine
